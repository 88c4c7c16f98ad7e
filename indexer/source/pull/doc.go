// Package pull fetches the rows of a source from the interfaces of most cities: Socrata's
// SODA and layers of an ArcGIS server. It writes a plain file of NDJSON, continues after
// interruptions, and later fetches only changes. It does not know what the rows mean.
package pull
