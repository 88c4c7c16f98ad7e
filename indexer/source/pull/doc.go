// Package pull fetches the rows of a source from the interfaces that most cities have:
// Socrata's SODA and layers of an ArcGIS server. It writes a plain file of NDJSON, goes on
// where it was interrupted, and later fetches only what changed. It does not know what the
// rows mean.
package pull
