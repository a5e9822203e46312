package picture

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// exifTags lists the tags with texts by people (Exif 2.3, 4.6; the XP tags are Microsoft's).
// exifFolder is the tag that leads to more tags.
var exifTags = map[uint16]string{
	0x010e: "ImageDescription", 0x010f: "Make", 0x0110: "Model", 0x0131: "Software", 0x013b: "Artist", 0x8298: "Copyright",
	0x9286: "UserComment", 0x9c9b: "XPTitle", 0x9c9c: "XPComment", 0x9c9d: "XPAuthor", 0x9c9e: "XPKeywords", 0x9c9f: "XPSubject",
}

const (
	exifFolder = 0x8769
	maxFolders = 4    // that are read of one image
	maxTags    = 1000 // of a folder
)

// exifTexts visits the texts of EXIF, which has the form of a TIFF. Values that point outside the
// data are left out.
func exifTexts(data []byte, found func(where, text string)) {
	if len(data) < 8 {
		return
	}
	var order binary.ByteOrder = binary.LittleEndian
	if data[0] == 'M' {
		order = binary.BigEndian
	}
	folders := []uint64{uint64(order.Uint32(data[4:]))}
	for i := 0; i < len(folders) && i < maxFolders; i++ {
		at := folders[i]
		if at+2 > uint64(len(data)) {
			continue
		}
		n := min(uint64(order.Uint16(data[at:])), maxTags)
		for at += 2; n > 0 && at+12 <= uint64(len(data)); at, n = at+12, n-1 {
			tag := order.Uint16(data[at:])
			if tag == exifFolder {
				folders = append(folders, uint64(order.Uint32(data[at+8:])))
			}
			size := uint64(order.Uint32(data[at+4:])) // for the types judged here, an element is a byte
			name, known := exifTags[tag]
			if from := uint64(order.Uint32(data[at+8:])); known && size > 4 && from+size <= uint64(len(data)) {
				found("EXIF "+name, exifText(tag, data[from:from+size], order))
			}
		}
	}
}

// exifText decodes the value of a tag.
func exifText(tag uint16, value []byte, order binary.ByteOrder) string {
	switch {
	case tag >= 0x9c9b:
		return utf16Text(value, binary.LittleEndian)
	case tag != 0x9286 || len(value) < 8:
		return strings.Trim(string(value), "\x00")
	case string(value[:8]) == "UNICODE\x00":
		return utf16Text(value[8:], order)
	}
	return strings.Trim(string(value[8:]), "\x00")
}

func utf16Text(value []byte, order binary.ByteOrder) string {
	var units []uint16
	for ; len(value) >= 2; value = value[2:] {
		units = append(units, order.Uint16(value))
	}
	return strings.Trim(string(utf16.Decode(units)), "\x00")
}
