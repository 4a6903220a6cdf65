// SPDX-License-Identifier: Apache-2.0

package fusefs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// The text of Settings is a JSON object. Its first key has a CRC-32C of what follows.

// sumKey begins a text, and sumLength digits and a quote follow.
const (
	sumKey    = `{"sum":"`
	sumLength = 8
)

// errSum means that a text of Settings is not the one that was written.
var errSum = errors.New("the text of the settings is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the text of c. It fails with E2BIG where that has no room.
func (c Settings) encode() ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	members := text[1:]
	text = fmt.Appendf(nil, "%s%08x\"", sumKey, crc32.Checksum(members, castagnoli))
	if len(members) > len("}") {
		text = append(text, ',')
	}
	if text = append(text, members...); len(text) > chosenSize {
		return nil, errTooLong
	}
	return text, nil
}

// decodeChosen reads the text of encode.
func decodeChosen(text []byte) (c Settings, err error) {
	if text, err = unsummed(text); err != nil {
		return Settings{}, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return Settings{}, err
	}
	return c, nil
}

// unsummed returns a text without its checksum, which is right.
func unsummed(text []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(text, []byte(sumKey))
	if !ok || len(rest) < sumLength+len(`"}`) {
		return nil, errSum
	}
	members := bytes.TrimPrefix(rest[sumLength+1:], []byte(","))
	if fmt.Sprintf("%08x\"", crc32.Checksum(members, castagnoli)) != string(rest[:sumLength+1]) {
		return nil, errSum
	}
	return append([]byte("{"), members...), nil
}

// firstObject returns the JSON object at the beginning of a room, nil where there is none.
func firstObject(room []byte) []byte {
	var object json.RawMessage
	if json.NewDecoder(bytes.NewReader(room)).Decode(&object) != nil {
		return nil
	}
	return object
}
