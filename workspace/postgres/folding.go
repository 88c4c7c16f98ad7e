package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/views"
)

// Names are also stored folded, for searching and sorting. A new version of folding
// (catalog.Folding) may make two names equal. Both remain: twinMark is appended to the
// folded name of the second, twice to that of the third, because the constraint requires
// distinct names. Searches never match the mark, because folding removes it.
const twinMark = "\u200b"

var errEqualName = errors.New("another View has a name that is equal when folded")

// refuseEqualName refuses a View with the same name as another one of its dataset under the
// newest folding. The constraint views_name covers only names with that folding.
func refuseEqualName(ctx context.Context, tx pgx.Tx, in workspace.ID, v views.View) error {
	rows, err := tx.Query(
		ctx,
		`SELECT name FROM views WHERE workspace_id = $1 AND dataset = $2 AND id <> $3`,
		arg(in),
		string(v.Dataset),
		arg(v.ID),
	)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if slices.ContainsFunc(names, func(name string) bool { return catalog.Fold(name) == v.FoldedName() }) {
		return viewNameConflict(errEqualName)
	}
	return nil
}

// EqualNames are Views of one dataset whose names are equal.
type EqualNames struct {
	Dataset catalog.Dataset
	Views   []views.ID
}

// RefoldNames folds the names of a workspace's Views and Skills by the newest version. It
// changes no name, and returns the Views whose names are equal.
func (s *System) RefoldNames(ctx context.Context, in workspace.ID) (equal []EqualNames, err error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	err = toFault(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if equal, err = refoldViews(ctx, tx, in); err != nil {
			return err
		}
		return refoldSkills(ctx, tx, in)
	}))
	return equal, err
}

// namedView is a View while its name is folded.
type namedView struct {
	ID      uuid.UUID
	Dataset catalog.Dataset
	Name    string
	Folded  string
}

func refoldViews(ctx context.Context, tx pgx.Tx, in workspace.ID) (equal []EqualNames, err error) {
	rows, err := tx.Query(ctx, `
		SELECT id, dataset, name, name_folded FROM views WHERE workspace_id = $1 ORDER BY dataset, created_at, id FOR NO KEY UPDATE`, arg(in))
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[namedView])
	if err != nil {
		return nil, err
	}
	type group struct {
		dataset catalog.Dataset
		name    string
	}
	var order []group
	groups := map[group][]namedView{}
	for _, v := range all {
		of := group{v.Dataset, catalog.Fold(v.Name)}
		if groups[of] == nil {
			order = append(order, of)
		}
		groups[of] = append(groups[of], v)
	}
	for _, of := range order {
		same := groups[of]
		if err := refoldEqual(ctx, tx, in, of.name, same); err != nil {
			return nil, err
		}
		if len(same) < 2 {
			continue
		}
		e := EqualNames{Dataset: of.dataset}
		for _, v := range same {
			e.Views = append(e.Views, views.ID(v.ID))
		}
		equal = append(equal, e)
	}
	return equal, nil
}

// refoldEqual gives Views with equal names distinct folded names. A View that already has one
// of these keeps it, so that no two are equal in between.
func refoldEqual(ctx context.Context, tx pgx.Tx, in workspace.ID, folded string, same []namedView) error {
	free := make([]string, len(same))
	for i := range same {
		free[i] = folded + strings.Repeat(twinMark, i)
	}
	same = slices.Clone(same)
	same = slices.DeleteFunc(same, func(v namedView) bool {
		i := slices.Index(free, v.Folded)
		if i >= 0 {
			free = slices.Delete(free, i, i+1)
		}
		return i >= 0
	})
	for i, v := range same {
		if _, err := tx.Exec(ctx, `UPDATE views SET name_folded = $3 WHERE workspace_id = $1 AND id = $2`, arg(in), v.ID, free[i]); err != nil {
			return err
		}
	}
	return nil
}

func refoldSkills(ctx context.Context, tx pgx.Tx, in workspace.ID) error {
	type skill struct {
		ID                                 uuid.UUID
		Name, Description, Folded, Details string
	}
	rows, err := tx.Query(ctx, `
		SELECT id, name, description, name_folded, description_folded FROM skills WHERE workspace_id = $1 ORDER BY id FOR UPDATE`, arg(in))
	if err != nil {
		return err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[skill])
	if err != nil {
		return err
	}
	for _, k := range all {
		name, description := catalog.Fold(k.Name), catalog.Fold(k.Description)
		if name == k.Folded && description == k.Details {
			continue
		}
		if _, err := tx.Exec(ctx, `UPDATE skills SET name_folded = $3, description_folded = $4 WHERE workspace_id = $1 AND id = $2`,
			arg(in), k.ID, name, description); err != nil {
			return err
		}
	}
	return nil
}
