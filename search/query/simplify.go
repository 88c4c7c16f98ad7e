package query

// Simplify returns a tree that matches the same records with fewer nodes. It flattens an
// All in an All and an Any in an Any, replaces one with a single child by that child, and
// replaces what always or never matches by All{} or Any{}. The tree itself is not changed.
func Simplify(root Node) Node { return root.simplify() }

// always reports whether a simplified node matches every record.
func always(n Node) bool {
	all, ok := n.(All)
	return ok && len(all) == 0
}

// never reports whether a simplified node matches no record.
func never(n Node) bool {
	some, ok := n.(Any)
	return ok && len(some) == 0
}

func (n All) simplify() Node {
	children := make(All, 0, len(n))
	for _, child := range n {
		child = child.simplify()
		if never(child) {
			return child
		}
		if all, ok := child.(All); ok {
			children = append(children, all...)
		} else {
			children = append(children, child)
		}
	}
	if len(children) == 1 {
		return children[0]
	}
	return children
}

func (n Any) simplify() Node {
	children := make(Any, 0, len(n))
	for _, child := range n {
		child = child.simplify()
		if always(child) {
			return child
		}
		if some, ok := child.(Any); ok {
			children = append(children, some...)
		} else {
			children = append(children, child)
		}
	}
	if len(children) == 1 {
		return children[0]
	}
	return children
}

func (n Not) simplify() Node {
	child := n.Node.simplify()
	if not, ok := child.(Not); ok {
		return not.Node
	}
	switch {
	case always(child):
		return Any{}
	case never(child):
		return All{}
	}
	return Not{child}
}

func (n Terms) simplify() Node {
	if len(n.Values) == 0 {
		return Any{}
	}
	return n
}

func (n Range) simplify() Node {
	if n.From.Open() && n.To.Open() {
		return Exists{n.Field}
	}
	return n
}

func (n Nested) simplify() Node {
	child := n.Node.simplify()
	if never(child) {
		return child
	}
	return Nested{n.Relation, child}
}

func (n InView) simplify() Node {
	if len(n.IDs) == 0 {
		return Any{}
	}
	return n
}

func (n Match) simplify() Node       { return n }
func (n MatchRecord) simplify() Node { return n }
func (n MatchWords) simplify() Node  { return n }
func (n Near) simplify() Node        { return n }
func (n InBox) simplify() Node       { return n }
func (n InPolygon) simplify() Node   { return n }
func (n Exists) simplify() Node      { return n }
func (n InBook) simplify() Node      { return n }
func (n InAnyView) simplify() Node   { return n }
