// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A document is an object of a configuration: a bool, a string, a number or an object by each key.
// A null is there as nil, since a drop-in may take a value away with it. A value that only a whole
// reader of YAML could tell is an unread.
type document map[string]any

// unread is a value that was not read, with its line.
type unread int

// merge changes d as a JSON merge patch does (RFC 7386), which is how the kubelet takes drop-ins.
func (d document) merge(patch document) {
	for key, value := range patch {
		object, ok := asDocument(value)
		old, wasObject := asDocument(d[key])
		switch {
		case ok:
			if !wasObject {
				old = document{}
			}
			old.merge(object)
			d[key] = old
		default:
			d[key] = value
		}
	}
}

func asDocument(value any) (document, bool) {
	switch v := value.(type) {
	case document:
		return v, true
	case map[string]any: // of encoding/json
		return v, true
	}
	return nil, false
}

// unusable is the error for a value of another kind than its key has.
func unusable(key string, value any) error {
	if line, ok := value.(unread); ok {
		return fmt.Errorf("line %d: %s is written in a way that zramfs does not read", line, key)
	}
	return fmt.Errorf("%s is %v", key, value)
}

// boolean sets to where the key is there. YAML 1.1 has the words of the second list.
func (d document) boolean(key string, to *bool) error {
	switch v := d[key].(type) {
	case nil:
		return nil
	case bool:
		*to = v
		return nil
	case string:
		switch word := strings.ToLower(v); {
		case slices.Contains([]string{"true", "yes", "on", "y"}, word):
			*to = true
			return nil
		case slices.Contains([]string{"false", "no", "off", "n"}, word):
			*to = false
			return nil
		}
	}
	return unusable(key, d[key])
}

// text sets to where the key is there.
func (d document) text(key string, to *string) error {
	switch v := d[key].(type) {
	case nil:
		return nil
	case string:
		*to = v
		return nil
	case float64:
		*to = strconv.FormatFloat(v, 'f', -1, 64)
		return nil
	}
	return unusable(key, d[key])
}

// object returns the object of a key, which is empty where it is not there.
func (d document) object(key string) (document, error) {
	if d[key] == nil {
		return nil, nil
	}
	object, ok := asDocument(d[key])
	if !ok {
		return nil, unusable(key, d[key])
	}
	return object, nil
}

// texts sets to where the key is there.
func (d document) texts(key string, to *map[string]string) error {
	object, err := d.object(key)
	if object == nil || err != nil {
		return err
	}
	*to = map[string]string{}
	for name := range object {
		var value string
		if err := object.text(name, &value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		(*to)[name] = value
	}
	return nil
}

// parse reads a configuration file in JSON or YAML.
func parse(text []byte) (document, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		var doc document
		if err := json.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		return doc, nil
	}
	return parseYAML(string(text))
}
