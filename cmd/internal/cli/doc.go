// Package cli is what the commands of atlas and atlas-dev share: parsing the
// command line, exit statuses, options that several commands take, and how
// results are printed. It holds no command.
package cli
