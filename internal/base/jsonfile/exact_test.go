package jsonfile

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestUnmarshal(t *testing.T) {
	type inner struct {
		Digest map[string]string `json:"digest"`
	}
	type value struct {
		Type    string          `json:"_type"`
		Subject []inner         `json:"subject"`
		Raw     json.RawMessage `json:"raw"`
		Other   *inner          `json:"other"`
	}
	for text, want := range map[string]string{
		`{"_type":"a","subject":[{"digest":{"sha256":"x"}}],"more":{"X":1,"x":2}}`: "",
		`{"raw":{"a":1,"a":2},"other":null}`:                                       "",
		`{"_TYPE":"a"}`:                                                            `is not written as _type`,
		`{"_type":"a","_Type":"b"}`:                                                `is not written as _type`,
		`{"_type":"a","_type":"b"}`:                                                `is there twice`,
		`{"more":1,"more":2}`:                                                      `is there twice`,
		`{"ſubject":[]}`:                                                           `is not written as subject`,
		`{"subject":[{"Digest":{}}]}`:                                              `is not written as digest`,
		`{"subject":[{"digest":{"a":"x","a":"y"}}]}`:                               `is there twice`,
		`{"other":{"digest":{},"DIGEST":{}}}`:                                      `is not written as digest`,
		`{"_type":1}`:                                                              `cannot unmarshal`,
		`{} {}`:                                                                    `after top-level value`,
		strings.Repeat("[", 20000):                                                 `exceeded max depth`,
		`{"a":` + strings.Repeat(`{"a":`, 20000) + `1}`:                            `exceeded max depth`,
		`{"_\u0074ype":"a","_type":"b"}`:                                           `is there twice`,
		`{"subject":[{"digest":{"sha256":"x"},"x":[]}]}`:                           "",
	} {
		var v value
		switch err := Unmarshal([]byte(text), &v); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}
