package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// sign returns the signature of data, in ASN.1 and base64, with the private key in a file. The same
// key and data give the same signature (RFC 6979).
func sign(path string, data []byte) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is no PEM")
	}
	var key any
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	default:
		err = fmt.Errorf("it is a %s: give a PRIVATE KEY or an EC PRIVATE KEY", block.Type)
	}
	if err != nil {
		return nil, err
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, errors.New("it is no ECDSA key on P-256")
	}
	digest := sha256.Sum256(data)
	signature, err := private.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return append([]byte(base64.StdEncoding.EncodeToString(signature)), '\n'), nil
}
