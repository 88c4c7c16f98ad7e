package api

import "github.com/gin-gonic/gin"

// Router is Handler without compression, for tests that list its routes.
func Router(s *Server) *gin.Engine { return s.router() }

func (s *Server) router() *gin.Engine { return s.Core.Router(s.table()) }

// Documentation makes the pages of /docs, and returns their broken links, and the files of
// the repository that they mention without a page.
func Documentation(s *Server) (problems, outside []string) {
	m := manualOf(s.Document())
	return m.Problems, m.Outside
}
