package read

import (
	"io"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"
)

// sheetRows reads a sheet of a workbook. Numbers and dates are as in the file: a date is a
// number of days, whatever its format shows.
type sheetRows struct {
	from  *excelize.Rows
	path  string // of the workbook
	sheet string
	names []string
	row   int64
}

// openWorkbook opens a sheet and reads its header.
func (f *File) openWorkbook(name string, o Options) (*sheetRows, error) {
	book, err := excelize.OpenFile(name, excelize.Options{RawCellValue: true, UnzipSizeLimit: maxWorkbook, UnzipXMLSizeLimit: maxRecord})
	if err != nil {
		return nil, unusable("the workbook cannot be read: %v", err)
	}
	f.close = append(f.close, book.Close)
	sheets := book.GetSheetList()
	if len(sheets) == 0 {
		return nil, unusable("the workbook has no sheet")
	}
	sheet := o.Sheet
	if sheet == "" {
		sheet = sheets[0]
	}
	if !slices.Contains(sheets, sheet) {
		return nil, unusable("the workbook has no sheet %.100q; its sheets are %.200q", sheet, sheets)
	}
	from, err := book.Rows(sheet)
	if err != nil {
		return nil, unusable("the sheet %.100q cannot be read: %v", sheet, err)
	}
	f.close = append(f.close, from.Close)
	r := &sheetRows{from: from, path: name, sheet: sheet}
	for range o.SkipLines {
		if r.from.Next() {
			r.row++
		}
	}
	// Titles are rows of one cell.
	for range maxTitles + 1 {
		cells, err := r.read()
		if err != nil {
			return nil, unusable("the sheet %.100q names no columns", sheet)
		}
		if n := filled(cells); n > 1 || n == 1 && o.SkipLines > 0 {
			r.names, err = named(cells)
			return r, err
		}
	}
	return nil, unusable("none of the first rows of the sheet %.100q names columns; skip what is above them with read.skip_lines", sheet)
}

func (r *sheetRows) columns() []string { return r.names }

func (r *sheetRows) next() (Row, error) {
	for {
		cells, err := r.read()
		if err != nil {
			return Row{Line: r.row}, err
		}
		if filled(cells) == 0 {
			continue
		}
		if len(cells) > len(r.names) {
			if filled(cells[len(r.names):]) > 0 {
				return Row{Line: r.row}, &RowError{r.row, "cells beyond the columns that the first row names"}
			}
			cells = cells[:len(r.names)]
		}
		return Row{r.row, cells}, nil
	}
}

func (r *sheetRows) read() ([]string, error) {
	if !r.from.Next() {
		if err := r.from.Error(); err != nil {
			return nil, unusable("the sheet is damaged after row %d: %v", r.row, err)
		}
		if err := whole(r.path, r.sheet); err != nil {
			return nil, unusable("the sheet is damaged after row %d: %v", r.row, err)
		}
		return nil, io.EOF
	}
	r.row++
	cells, err := r.from.Columns()
	if err != nil {
		return nil, unusable("the sheet is damaged in row %d: %v", r.row, err)
	}
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
	}
	return cells, nil
}
