package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLineTooLong reports a line that was skipped because of its length.
var errLineTooLong = errors.New("line too long")

// keptLine is the largest buffer kept for the next line: one huge message must not occupy its
// memory for the rest of the session.
const keptLine = 1 << 20

// byteOrderMark is written before the first line by some Windows programs.
var byteOrderMark = []byte("\xef\xbb\xbf")

// lineReader splits an input into lines of at most limit bytes.
type lineReader struct {
	in    *bufio.Reader
	limit int
	buf   []byte // the line so far, when it spans reads
	begun bool   // the first line was returned
	err   error  // the error that ended the input
}

func newLineReader(in io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), limit: limit}
}

// next returns a line without its end, valid until the next call. A line over the limit is read to
// its end and reported as errLineTooLong. Bytes without a newline before the end of the input are a
// line too; bytes before a read failure are not, because the line may be incomplete.
func (r *lineReader) next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	if cap(r.buf) > keptLine {
		r.buf = nil
	}
	r.buf = r.buf[:0]
	line, tooLong, err := r.read()
	r.err = err
	if err != nil && (err != io.EOF || len(line) == 0 && !tooLong) {
		return nil, err
	}
	line = r.trim(line)
	if tooLong || len(line) > r.limit {
		return nil, errLineTooLong
	}
	return line, nil
}

// read collects one line, unchanged. Beyond the limit, with room for the line end and a byte-order
// mark, it only looks for the newline.
func (r *lineReader) read() (line []byte, tooLong bool, err error) {
	room := r.limit + len("\r\n") + len(byteOrderMark)
	for {
		part, err := r.in.ReadSlice('\n')
		tooLong = tooLong || len(r.buf)+len(part) > room
		switch {
		case tooLong:
			r.buf = nil
		case err == nil && len(r.buf) == 0:
			return part, false, nil // the usual case, without a copy
		default:
			r.buf = append(r.buf, part...)
		}
		if err != bufio.ErrBufferFull {
			return r.buf, tooLong, err
		}
	}
}

// trim removes the line end, and the byte-order mark of the first line.
func (r *lineReader) trim(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	return line
}

// more reports whether another whole line can be returned without a read.
func (r *lineReader) more() bool {
	waiting, _ := r.in.Peek(r.in.Buffered())
	return bytes.IndexByte(waiting, '\n') >= 0
}
