// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// The text of Chosen is a JSON object. Its first key has a CRC-32C of what follows; an earlier
// version ignores it, and writes texts without it. Of keys that this version does not know the text
// keeps what it has: a program may be replaced by an earlier one and come back.

// sumKey begins a text, and sumLength digits and a quote follow.
const (
	sumKey    = `{"sum":"`
	sumLength = 8
)

// errSum means that a text of Chosen is not the one that was written.
var errSum = errors.New("the text of the settings is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the text of c. It fails with E2BIG where that has no room.
func (c Settings) encode() ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	members := strings.TrimPrefix(string(text), "{")
	if c.others != "" {
		members = joinMembers(strings.TrimPrefix(c.others, "{"), members)
	}
	members = joinMembers(fmt.Sprintf("%s%08x\"}", sumKey, crc32.Checksum([]byte(members), castagnoli)), members)
	if len(members) > chosenSize {
		return nil, errTooLong
	}
	return []byte(members), nil
}

// joinMembers returns the members of two objects, each with the brace that ends it.
func joinMembers(a, b string) string {
	if b == "}" {
		return a
	}
	return strings.TrimSuffix(a, "}") + "," + b
}

// decodeChosen reads the text of encode, also of an earlier version if it need not be summed. lost
// names the settings in it that cannot be read.
func decodeChosen(text []byte, summed bool) (c Settings, lost []string, err error) {
	if text, err = unsummed(text, summed); err != nil {
		return Settings{}, nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return Settings{}, nil, err
	}
	others := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if !knownSetting(key) {
			others[key] = members[key]
			continue
		}
		next := c
		one, err := json.Marshal(map[string]json.RawMessage{key: members[key]})
		if err == nil {
			err = json.Unmarshal(one, &next)
		}
		if err != nil {
			lost = append(lost, fmt.Sprintf("setting %s is lost: %v", key, err))
			continue
		}
		c = next
	}
	if len(others) > 0 {
		text, err := json.Marshal(others)
		if err != nil {
			return Settings{}, nil, err
		}
		c.others = string(text)
	}
	return c, lost, nil
}

// unsummed returns a text without its checksum, which is right.
func unsummed(text []byte, summed bool) ([]byte, error) {
	rest, ok := bytes.CutPrefix(text, []byte(sumKey))
	switch {
	case !ok && summed:
		return nil, errSum
	case !ok:
		return text, nil
	case len(rest) < sumLength+len(`"}`):
		return nil, errSum
	}
	members := bytes.TrimPrefix(rest[sumLength+1:], []byte(","))
	if fmt.Sprintf("%08x\"", crc32.Checksum(members, castagnoli)) != string(rest[:sumLength+1]) {
		return nil, errSum
	}
	return append([]byte("{"), members...), nil
}

// knownSetting reports whether Chosen has a field for a key.
func knownSetting(key string) bool {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == key && key != "" {
			return true
		}
	}
	return false
}

// firstObject returns the JSON object at the beginning of a room, nil where there is none.
func firstObject(room []byte) []byte {
	var object json.RawMessage
	if json.NewDecoder(bytes.NewReader(room)).Decode(&object) != nil {
		return nil
	}
	return object
}
