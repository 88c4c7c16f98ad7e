package read

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"
)

// whole reads the XML of a sheet to its end, because the reader of rows mistakes damage for
// the end. A sheet whose file is not found was read by other means.
func whole(workbook, sheet string) error {
	archive, err := zip.OpenReader(workbook)
	if err != nil {
		return err
	}
	defer archive.Close() //nolint:errcheck // only read
	part, err := partOf(archive, sheet)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	file, err := archive.Open(part)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	defer file.Close() //nolint:errcheck // only read
	d := xml.NewDecoder(file)
	d.CharsetReader = func(_ string, from io.Reader) (io.Reader, error) { return from, nil }
	depth := 0
	for {
		token, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && depth > 0:
			return io.ErrUnexpectedEOF
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
}

// partOf is the name of the file of a sheet.
func partOf(archive *zip.ReadCloser, sheet string) (string, error) {
	var book struct {
		Sheets []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"id,attr"`
		} `xml:"sheets>sheet"`
	}
	var links struct {
		Links []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	for name, into := range map[string]any{"xl/workbook.xml": &book, "xl/_rels/workbook.xml.rels": &links} {
		file, err := archive.Open(name)
		if err != nil {
			return "", err
		}
		err = xml.NewDecoder(io.LimitReader(file, maxRecord)).Decode(into)
		_ = file.Close()
		if err != nil {
			return "", err
		}
	}
	for _, s := range book.Sheets {
		for _, l := range links.Links {
			if s.Name != sheet || s.ID != l.ID {
				continue
			}
			if absolute, is := strings.CutPrefix(l.Target, "/"); is {
				return absolute, nil
			}
			return path.Join("xl", l.Target), nil
		}
	}
	return "", errors.New("it is not in the list of sheets")
}
