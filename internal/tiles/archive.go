package tiles

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"time"
)

// MaxRange is how many bytes a request may ask for. Readers of archives ask for the header
// (16 KiB), for directories and for single tiles.
const MaxRange = 1_000_000

// headerBytes is the length of the header of PMTiles version 3
// (https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md).
const headerBytes = 127

// Archive is an open file. It is safe for concurrent use.
type Archive struct {
	file *os.File
	size int64
	// modified is when the file was written: an archive is replaced by another file, not
	// changed.
	modified time.Time
	tag      string // of ETags, with quotes
}

// OpenArchive opens a PMTiles archive of vector tiles, and checks its header.
func OpenArchive(path string) (*Archive, error) {
	file, err := os.Open(path) // #nosec G304 -- the operator names it
	if err != nil {
		return nil, err
	}
	a := &Archive{file: file}
	if err := a.read(); err != nil {
		_ = file.Close() // only read
		return nil, fmt.Errorf("%.200s: %w", path, err)
	}
	return a, nil
}

func (a *Archive) read() error {
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("must be a file")
	}
	a.size, a.modified = info.Size(), info.ModTime()
	header := make([]byte, headerBytes)
	if _, err := a.file.ReadAt(header, 0); err != nil {
		return errors.New("is no PMTiles archive: it is too short")
	}
	const (
		compression, kind = 98, 99
		gzip, none        = 2, 1
		vector            = 1
	)
	switch {
	case !bytes.HasPrefix(header, []byte("PMTiles")):
		return errors.New("is no PMTiles archive; pmtiles convert makes one of .mbtiles")
	case header[7] != 3:
		return fmt.Errorf("is a PMTiles archive of version %d, not 3; pmtiles convert makes one", header[7])
	case header[kind] != vector:
		return errors.New("has pictures, not vector tiles (type mvt)")
	case header[compression] != gzip && header[compression] != none:
		return errors.New("has tiles that are compressed with something else than gzip, which browsers do not unpack")
	}
	// Offsets and lengths of the root directory, the metadata, the leaf directories and the tiles.
	for at := 8; at < 72; at += 16 {
		offset, length := binary.LittleEndian.Uint64(header[at:]), binary.LittleEndian.Uint64(header[at+8:])
		if size := uint64(a.size); offset > size || length > size-offset { // #nosec G115 -- a size is not negative
			return errors.New("is shorter than its header says: the copy is not whole")
		}
	}
	sum := sha256.Sum256(fmt.Appendf(header, "%d %d", a.size, a.modified.UnixNano()))
	a.tag = `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return nil
}

// Close closes the file.
func (a *Archive) Close() error { return a.file.Close() }

// Length is the number of bytes in the answer to a GET, for limits: 0 if it is refused.
func (a *Archive) Length(r *http.Request) int64 {
	_, length, ok := a.ranged(r)
	if !ok || r.Method == http.MethodHead {
		return 0
	}
	return length
}

// ranged is the one range that a request asks for; false if it asks for none, for several,
// for too much or for bytes that do not exist. If-Range with another version means the
// whole file.
func (a *Archive) ranged(r *http.Request) (first, length int64, ok bool) {
	header := r.Header.Values("Range")
	if condition := r.Header.Get("If-Range"); len(header) != 1 || condition != "" && textproto.TrimString(condition) != a.tag {
		return 0, 0, false
	}
	text, isBytes := strings.CutPrefix(header[0], "bytes=")
	from, to, isRange := strings.Cut(textproto.TrimString(text), "-")
	if !isBytes || !isRange {
		return 0, 0, false
	}
	number := func(text string) (int64, bool) {
		n, err := strconv.ParseUint(text, 10, 63)
		return int64(n), err == nil && text[0] != '+' // #nosec G115 -- of 63 bits
	}
	last := a.size - 1
	switch {
	case from == "": // the last bytes
		n, valid := number(to)
		if !valid || n == 0 {
			return 0, 0, false
		}
		first = max(0, a.size-n)
	default:
		var valid bool
		if first, valid = number(from); !valid || first >= a.size {
			return 0, 0, false
		}
		if to != "" {
			end, valid := number(to)
			if !valid || end < first {
				return 0, 0, false
			}
			last = min(last, end)
		}
	}
	length = last - first + 1
	return first, length, length <= MaxRange
}

// Serve answers a GET or HEAD. A GET must have one range of at most MaxRange bytes, so that
// no request gets the whole file. Others get 416.
func (a *Archive) Serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if now, err := a.file.Stat(); err != nil || now.Size() != a.size || !now.ModTime().Equal(a.modified) {
		// Otherwise readers would mix directories and tiles of two versions.
		http.Error(w, "the archive was changed in place; the operator must start the server again", http.StatusServiceUnavailable)
		return
	}
	h.Set("ETag", a.tag)
	h.Set("Accept-Ranges", "bytes")
	h.Set("Cache-Control", "public, max-age=86400")
	h.Set("Content-Type", "application/vnd.pmtiles")
	h.Set("X-Content-Type-Options", "nosniff")
	if match := r.Header.Get("If-Match"); match != "" && !lists(match, a.tag, false) {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	if lists(r.Header.Get("If-None-Match"), a.tag, true) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method == http.MethodHead {
		h.Set("Content-Length", strconv.FormatInt(a.size, 10))
		w.WriteHeader(http.StatusOK)
		return
	}
	first, length, ok := a.ranged(r)
	if !ok {
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", a.size))
		h.Set("Cache-Control", "no-store")
		http.Error(w, fmt.Sprintf("ask for one range of at most %d bytes, such as Range: bytes=0-16383, of this version", MaxRange),
			http.StatusRequestedRangeNotSatisfiable)
		return
	}
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, first+length-1, a.size))
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	w.WriteHeader(http.StatusPartialContent)
	_, _ = io.Copy(w, io.NewSectionReader(a.file, first, length)) // the client has gone
}

// lists reports whether a header lists a tag. weak: W/"x" counts as "x" too.
func lists(header, tag string, weak bool) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = textproto.TrimString(one); weak {
			one = strings.TrimPrefix(one, "W/")
		}
		if one == "*" || one == tag {
			return true
		}
	}
	return false
}
