package catalog

import "strings"

// LegalForms are legal forms of firms, by their folded spellings; equal ones have one value.
var LegalForms = func() map[string]string {
	of := map[string]string{}
	for line := range strings.Lines(`inc: inc incorporated
ltd: ltd limited ltee limitee ltda
corp: corp corporation
co: co company cie compagnie
llc: llc
llp: llp
lp: lp
gp: gp
ulc: ulc
plc: plc
gmbh: gmbh
pc: pc
ag: ag
sa: sa sarl sas
bv: bv
jv: jv
`) {
		form, spellings, _ := strings.Cut(line, ":")
		for _, s := range strings.Fields(spellings) {
			of[s] = form
		}
	}
	return of
}()
