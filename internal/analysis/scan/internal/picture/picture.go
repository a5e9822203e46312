// Package picture reads the texts in images, which no viewer displays.
package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
)

// MinText is the least length, in characters, of a text in an image that is worth a look. Programs
// leave their names and dates there.
const MinText = 40

// maxText bounds the unpacked size of a text in an image, in bytes.
const maxText = 1 << 20

const pngMagic = "\x89PNG\r\n\x1a\n"

// Format returns the format of an image that [Texts] reads, or "".
func Format(data []byte) string {
	has := func(magic string) bool { return bytes.HasPrefix(data, []byte(magic)) }
	switch {
	case has(pngMagic):
		return "png"
	case has("\xff\xd8\xff"):
		return "jpeg"
	case has("GIF87a"), has("GIF89a"):
		return "gif"
	case has("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return "webp"
	}
	return ""
}

// Texts visits the texts of an image that has a [Format]. It returns the bytes after the image's
// end, and whether the image has an end.
func Texts(data []byte, found func(where, text string)) (rest []byte, whole bool) {
	switch Format(data) {
	case "png":
		return pngTexts(data[len(pngMagic):], found)
	case "jpeg":
		return jpegTexts(data[2:], found)
	case "gif":
		return gifTexts(data, found)
	case "webp":
		return webpTexts(data, found)
	}
	return nil, false
}

// usualTexts lists the beginnings of texts that programs and authors put into every image.
var usualTexts = []string{"copyright", "(c) ", "©", "all rights reserved", "cc attribution", "matplotlib version", "@(#)imagemagick", "adobe ", "created with ", "creator: ", "xv version", "lead technologies"}

// IsUsual reports whether a text is short and common in images.
func IsUsual(text string) bool {
	if utf8.RuneCountInString(text) > 3*MinText {
		return false
	}
	low := strings.ToLower(text)
	for _, usual := range usualTexts {
		if strings.HasPrefix(low, usual) {
			return true
		}
	}
	return false
}

// pngTexts visits the texts of a PNG (PNG 3rd edition, 11.3.3 and 11.3.4.5). It returns the bytes
// after the image's end, and whether it has one.
func pngTexts(data []byte, found func(where, text string)) (rest []byte, whole bool) {
	for len(data) >= 12 {
		n := uint64(binary.BigEndian.Uint32(data))
		kind := string(data[4:8])
		if n > uint64(len(data)-12) {
			return nil, false
		}
		body := data[8 : 8+n]
		data = data[12+n:]
		keyword, value, _ := bytes.Cut(body, []byte{0})
		where := kind + " " + secrets.Quote(string(keyword))
		switch kind {
		case "tEXt":
			pngText(string(keyword), where, value, found)
		case "zTXt":
			if len(value) < 1 {
				continue
			}
			text, ok := unzlib(value[1:])
			if !ok {
				return nil, false
			}
			pngText(string(keyword), where, text, found)
		case "iTXt":
			if len(value) < 2 {
				continue
			}
			packed := value[0] == 1
			_, value, _ = bytes.Cut(value[2:], []byte{0}) // the language
			_, text, _ := bytes.Cut(value, []byte{0})     // the keyword in it
			if packed {
				var ok bool
				if text, ok = unzlib(text); !ok {
					return nil, false
				}
			}
			pngText(string(keyword), where, text, found)
		case "eXIf":
			exifTexts(body, found)
		case "IEND":
			return data, true
		}
	}
	return nil, false
}

// pngText visits a text of a PNG, which can contain XMP or EXIF.
func pngText(keyword, where string, text []byte, found func(where, text string)) {
	switch {
	case keyword == "XML:com.adobe.xmp":
		xmpTexts(text, found)
	case strings.HasPrefix(keyword, "Raw profile type "):
		rawProfile(text, found)
	default:
		found(where, string(text))
	}
}

// rawProfile visits the texts of a profile in the form of ImageMagick: its name, its length, and
// hexadecimal digits.
func rawProfile(text []byte, found func(where, text string)) {
	fields := bytes.Fields(text)
	if len(fields) < 3 {
		return
	}
	data := bytes.Join(fields[2:], nil)
	n, _ := hex.Decode(data, data)
	data = data[:n]
	if i := bytes.Index(data, []byte("<x:xmpmeta")); i >= 0 {
		xmpTexts(data[i:], found)
		return
	}
	exifTexts(bytes.TrimPrefix(data, []byte(exifHeader)), found)
}

// unzlib unpacks a text of at most maxText bytes.
func unzlib(data []byte) ([]byte, bool) {
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	return text, err == nil && len(text) <= maxText
}

const (
	exifHeader = "Exif\x00\x00"
	xmpHeader  = "http://ns.adobe.com/xap/1.0/\x00"
)

// jpegTexts visits the texts of a JPEG up to its first scan (ITU T.81, annex B; Exif 2.3, 4.5.4).
// It returns the bytes after the image's end; whole reports whether there is a scan.
func jpegTexts(data []byte, found func(where, text string)) (rest []byte, whole bool) {
	for len(data) >= 4 && data[0] == 0xff {
		marker := data[1]
		if marker == 0xff { // filling
			data = data[1:]
			continue
		}
		n := int(binary.BigEndian.Uint16(data[2:]))
		if n < 2 || n+2 > len(data) {
			return nil, false
		}
		body := data[4 : 2+n]
		data = data[2+n:]
		switch {
		case marker == 0xfe:
			found("its comment", string(body))
		case marker == 0xe1 && bytes.HasPrefix(body, []byte(exifHeader)):
			exifTexts(body[len(exifHeader):], found)
		case marker == 0xe1 && bytes.HasPrefix(body, []byte(xmpHeader)):
			xmpTexts(body[len(xmpHeader):], found)
		case marker == 0xda:
			end := bytes.LastIndex(data, []byte("\xff\xd9"))
			if end < 0 {
				return nil, false
			}
			return data[end+2:], true
		}
	}
	return nil, false
}

// gifTexts visits the comments of a GIF (GIF89a, 24). It returns the bytes after the image's end,
// and whether it has one.
func gifTexts(data []byte, found func(where, text string)) (rest []byte, whole bool) {
	if len(data) < 13 {
		return nil, false
	}
	colours := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	at := 13 + colours(data[10])
	for at < len(data) {
		switch data[at] {
		case 0x3b:
			return data[at+1:], true
		case 0x2c:
			if at+10 > len(data) {
				return nil, false
			}
			at += 10 + colours(data[at+9]) + 1
			_, at = gifBlocks(data, at, false)
		case 0x21:
			if at+2 > len(data) {
				return nil, false
			}
			kind := data[at+1]
			var text []byte
			text, at = gifBlocks(data, at+2, kind == 0xfe || kind == 0x01 || kind == 0xff)
			if i := bytes.Index(text, []byte("<x:xmpmeta")); kind == 0xff && i >= 0 {
				xmpTexts(text[i:], found)
			} else if kind != 0xff && len(text) > 0 {
				found("its comment", string(text))
			}
		default:
			return nil, false
		}
	}
	return nil, false
}

// gifBlocks joins the blocks at an offset, if they are wanted, and returns the offset after them.
func gifBlocks(data []byte, at int, wanted bool) (text []byte, end int) {
	for at < len(data) {
		n := int(data[at])
		at++
		if n == 0 {
			return text, at
		}
		if wanted {
			text = append(text, data[min(at, len(data)):min(at+n, len(data))]...)
		}
		at += n
	}
	return text, at
}

// webpTexts visits the texts of a WebP (RFC 9649, 2.7). It returns the bytes after the image's
// end, and whether it has one.
func webpTexts(data []byte, found func(where, text string)) (rest []byte, whole bool) {
	size := min(8+uint64(binary.LittleEndian.Uint32(data[4:])), uint64(len(data)))
	data, rest = data[12:max(12, size)], data[max(12, size):]
	for len(data) >= 8 {
		n := uint64(binary.LittleEndian.Uint32(data[4:]))
		if n > uint64(len(data)-8) {
			return nil, false
		}
		body := data[8 : 8+n]
		switch string(data[:4]) {
		case "EXIF":
			exifTexts(bytes.TrimPrefix(body, []byte(exifHeader)), found)
		case "XMP ":
			xmpTexts(body, found)
		}
		data = data[min(8+n+n&1, uint64(len(data))):]
	}
	return rest, true
}

// xmpNames lists the names in XMP whose texts programs write.
var xmpNames = []string{"xmptk", "parameters", "CreatorTool", "rights", "Copyright", "UsageTerms", "WebStatement"}

// xmpTexts visits the texts of XMP that contain words: identifiers and dates have none.
func xmpTexts(data []byte, found func(where, text string)) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict = false
	var names []string
	text := func(name, value string) {
		if strings.Count(strings.TrimSpace(value), " ") >= 3 && !slices.Contains(xmpNames, name) {
			found("XMP "+secrets.Quote(name), value)
		}
	}
	for {
		t, err := d.RawToken()
		if err != nil {
			return
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Space != "rdf" && len(names) < 100 {
				names = append(names, t.Name.Local)
			}
			for _, a := range t.Attr {
				text(a.Name.Local, a.Value)
			}
		case xml.EndElement:
			if t.Name.Space != "rdf" && len(names) > 0 {
				names = names[:len(names)-1]
			}
		case xml.CharData:
			if len(names) > 0 {
				text(names[len(names)-1], string(t))
			}
		case xml.Comment:
			text("comment", string(t))
		}
	}
}
