package elastic

import "github.com/go-json-experiment/json/jsontext"

// Delete deletes a document. One that is not there is fine.
func (b *Batch) Delete(id string) {
	item := batchItem{start: len(b.body)}
	b.body = append(b.body, `{"delete":{"_id":`...)
	b.body, _ = jsontext.AppendQuote(b.body, id)
	b.body = append(b.body, "}}\n"...)
	item.end = len(b.body)
	item.doc = item.end - 1 // no document
	b.items = append(b.items, item)
}
