package feed

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"atlas/internal/elastic"
)

// Elasticsearch stores the id of the last publication in a document. Only a process that has
// read the document replaces it: the late write of a process that was killed, or lost its
// lease, must not undo another's.

// publication is the document with the id of the last publication.
type publication struct {
	ID uuid.UUID `json:"publication"`
}

// storedPublication is the document as read. The zero value means that there is none.
type storedPublication struct {
	publication
	seqNo, term int64
}

// errPublicationChanged means that the document has changed since it was read.
var errPublicationChanged = errors.New("another process has written the id of a publication")

const publicationID = "last"

// readPublication reads the document from Elasticsearch.
func (f *Feed) readPublication(ctx context.Context) (storedPublication, error) {
	res, err := f.Elastic.Do(ctx, esapi.GetRequest{Index: f.Names.Feed(), DocumentID: publicationID})
	if answer, ok := errors.AsType[*elastic.Error](err); ok && answer.Status == http.StatusNotFound {
		return storedPublication{}, nil
	}
	if err != nil {
		return storedPublication{}, err
	}
	var doc struct {
		SeqNo  int64       `json:"_seq_no"`
		Term   int64       `json:"_primary_term"`
		Source publication `json:"_source"`
	}
	err = json.Unmarshal(res.Body, &doc)
	return storedPublication{doc.Source, doc.SeqNo, doc.Term}, err
}

// writePublication stores the id in Elasticsearch, in place of what was read. Error: errPublicationChanged.
func (f *Feed) writePublication(ctx context.Context, id uuid.UUID, was storedPublication) error {
	body, err := json.Marshal(publication{id})
	if err != nil {
		return err
	}
	if err := f.Elastic.EnsureIndex(ctx, f.Names.Feed(), []byte(feedIndex)); err != nil {
		return err
	}
	write := esapi.IndexRequest{Index: f.Names.Feed(), DocumentID: publicationID, Body: bytes.NewReader(body), OpType: "create"}
	if was != (storedPublication{}) {
		seqNo, term := int(was.seqNo), int(was.term)
		write.OpType, write.IfSeqNo, write.IfPrimaryTerm = "", &seqNo, &term
	}
	_, err = f.Elastic.Do(ctx, write)
	if answer, ok := errors.AsType[*elastic.Error](err); ok && answer.Status == http.StatusConflict {
		return errPublicationChanged
	}
	return err
}

// feedIndex creates the index of the document, which is only read by its id.
const feedIndex = `{"settings":{"index":{"number_of_shards":1,"auto_expand_replicas":"0-1"}},"mappings":{"dynamic":false}}`
