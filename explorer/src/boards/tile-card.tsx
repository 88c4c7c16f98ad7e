import type { UseQueryResult } from '@tanstack/react-query'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { useMemo, type ReactNode } from 'react'
import type { Found } from '../api/boards'
import { go, link } from '../address'
import { counted } from '../datasets'
import { formatMoment } from '../format'
import { SearchContext, type Search } from '../search/context'
import { lexiconOf } from '../search/lexicon'
import { bodyOf, format } from '../search/state'
import type { ScreenProps } from '../shell/screens'
import { explain } from '../ui/notice'
import { Menu } from './board-menu'
import { NameDialog } from './board-dialogs'
import { scopeOfTile, searchOf, type Tile } from './tile'
import { TilePicture } from './tile-picture'

interface Props extends ScreenProps {
  tile: Tile
  counts: UseQueryResult<Found>
  position: number
  /** How many tiles there are. */
  of: number
  itemProps: React.HTMLAttributes<HTMLLIElement>
  handleProps: React.HTMLAttributes<HTMLElement>
  move: (to: number) => void
  rename: (title: string) => void
  remove: () => void
}

/** TileCard is a tile of a board: its title links to its search, and the result is drawn. */
export function TileCard({ workspace, descriptors, tile, counts, position, of, itemProps, handleProps, ...on }: Props) {
  const { search, address, note } = useTileSearch({ workspace, descriptors }, tile)
  const { data: found, error } = counts
  const count = found && ('pivot' in found ? found.pivot.count : found.facets.count)
  return (
    <li className="board-tile" {...itemProps}>
      <section aria-label={tile.title} aria-busy={counts.isFetching}>
        <header {...handleProps}>
          <h2>
            {address === undefined ? (
              // It can be moved by keys too.
              <bdi tabIndex={0} aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown">
                {tile.title}
              </bdi>
            ) : (
              <a {...link(address)} title={tile.title} draggable={false} aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown">
                <bdi>{tile.title}</bdi>
              </a>
            )}
          </h2>
          <button
            className="icon-button move"
            aria-label={`Move ${tile.title} up`}
            aria-disabled={position === 0}
            onClick={() => on.move(position - 1)}
          >
            <ArrowUp size={14} aria-hidden />
          </button>
          <button
            className="icon-button move"
            aria-label={`Move ${tile.title} down`}
            aria-disabled={position === of - 1}
            onClick={() => on.move(position + 1)}
          >
            <ArrowDown size={14} aria-hidden />
          </button>
          <Menu
            of={tile.title}
            actions={{
              'Another title…': (close) => (
                <NameDialog
                  title="Title of the tile"
                  action="Save"
                  name={tile.title}
                  onClose={close}
                  onName={(title) => {
                    close()
                    if (title !== tile.title) on.rename(title)
                  }}
                />
              ),
            }}
            done={{ 'Take off the board': on.remove }}
          />
        </header>
        <SearchContext value={search}>
          {found ? (
            <TilePicture tile={tile} found={found} address={address} />
          ) : error ? (
            <Refused error={error} retry={() => void counts.refetch()} />
          ) : (
            <div className="skeleton tile-skeleton" role="status" aria-label={`Counting ${tile.title}`} />
          )}
        </SearchContext>
        {found && (
          <p className="quiet notes">
            {tile.kind !== 'view' && count !== undefined && `${counted(count, tile.dataset)} in all. `}
            {error && (
              <span className="problem">
                Of {formatMoment(new Date(counts.dataUpdatedAt))}: it is not counted again, because{' '}
                {explain(error).title.toLowerCase()}.
              </span>
            )}
          </p>
        )}
        {note && <p className="quiet notes">{note}</p>}
      </section>
    </li>
  )
}

/** Refused explains why a tile has no counts. */
function Refused({ error, retry }: { error: Error; retry: () => void }): ReactNode {
  const { title, text, retryable } = explain(error)
  return (
    <div className="tile-refused">
      <h3>{title}</h3>
      <p>{text}</p>
      {retryable && (
        <button className="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** useTileSearch is the search of a tile for drawing, and the address of its link. */
function useTileSearch({ workspace, descriptors }: ScreenProps, tile: Tile) {
  return useMemo(() => {
    const scope = scopeOfTile(tile)
    const lexicon = lexiconOf(descriptors, scope.source && tile.dataset)
    const { kindOf } = lexicon
    const found = searchOf(tile, kindOf)
    const state = 'state' in found ? found.state : { ...scope, query: '', conditions: {} }
    const search: Search = {
      workspace,
      state,
      body: bodyOf(state, kindOf),
      kindOf,
      describe: (dataset, key) => lexicon.descriptorOf(dataset, key)?.description,
      fieldsOf: (dataset) => descriptors.filter((d) => d.dataset === lexicon.nameOf(dataset)),
      valueLabel: (key, value, dataset = tile.dataset) => lexicon.valueLabel(dataset, key, value, {}),
      change: (next) => go(format(next)),
      // A board has no rows.
      load: () => undefined,
      loadRecord: () => undefined,
    }
    return {
      search,
      address: 'state' in found ? format(found.state) : undefined,
      note: 'state' in found ? found.other : `It leads to no search. ${found.problem}`,
    }
  }, [workspace, descriptors, tile])
}
