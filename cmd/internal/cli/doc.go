// Package cli is shared by the commands of atlas and atlas-dev: parsing the command line,
// exit statuses, options that several commands take, and how results are printed. It has no
// commands.
package cli
