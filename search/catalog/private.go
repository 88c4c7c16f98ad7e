package catalog

// PublicText returns the fields that `query` searches on free routes, nil if these are all.
func PublicText(d Dataset) []*Field { return publicText[d] }

var publicText = func() map[Dataset][]*Field {
	all := map[Dataset][]*Field{}
	for _, d := range Datasets {
		fields := Fields(d)
		if !HasPrivate(d) {
			continue
		}
		for i := range fields {
			if fields[i].Query && !fields[i].Private {
				all[d] = append(all[d], &fields[i])
			}
		}
	}
	return all
}()

// AddressField is the field of a dataset that a word with an @ is compared with, nil if
// there is none.
func AddressField(d Dataset) *Field {
	fields := Fields(d)
	for i := range fields {
		if fields[i].Private {
			return &fields[i]
		}
	}
	return nil
}

// HasPrivate reports whether a dataset has a Private field.
func HasPrivate(d Dataset) bool {
	_, has := fieldWhere(d, func(f *Field) bool { return f.Private })
	return has
}
