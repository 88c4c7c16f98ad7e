import '../charts/charts.css'
import '../pivot/pivot.css'
import { useMemo, useRef, type ComponentProps } from 'react'
import type { Schemas } from '../api/client'
import { go } from '../address'
import { ChartTable } from '../charts/chart-table'
import { measureLabel } from '../charts/dimensions'
import { PlotChart } from '../charts/plot-chart'
import { pointsOf } from '../charts/points'
import { counted } from '../datasets'
import { formatNumber } from '../format'
import { StaticMap } from '../map/static-map'
import { extentOf } from '../map/tiles'
import { PivotTable } from '../pivot/pivot-table'
import { useSearch } from '../search/context'
import { format } from '../search/state'
import { nouns } from '../datasets'
import { useWidth } from '../ui/use-width'
import type { Found } from '../api/boards'
import { axisOfTile, dimensionOfTile, parseTile, type Tile } from './tile'

interface Props {
  tile: Tile
  found: Found
  /** The address of the tile's search, undefined if there is none. */
  address: string | undefined
}

/** TilePicture draws the result of a tile. */
export function TilePicture({ tile, found, address }: Props) {
  const { drawn } = parseTile(tile)
  if ('pivot' in found) {
    return drawn.kind === 'pivot' ? (
      <TilePivot tile={tile} drawn={drawn} pivot={found.pivot} linked={!!address} />
    ) : null
  }
  const { facets } = found
  const [facet] = facets.facets
  if (drawn.kind === 'view') {
    return (
      <p className="tile-number">
        <b>{formatNumber(facets.count)}</b> {facets.count === 1 ? nouns[tile.dataset].one : nouns[tile.dataset].many}
      </p>
    )
  }
  if (facets.count === 0 || !facet) return <p className="quiet">Nothing matches its search now.</p>
  if (drawn.kind === 'map') return <TileMap tile={tile} facet={facet} />
  return drawn.kind === 'chart' ? <TileChart tile={tile} request={drawn.facet} facet={facet} address={address} /> : null
}

type FacetOfTile = Parameters<typeof dimensionOfTile>[1]

interface ChartProps {
  tile: Tile
  request: FacetOfTile
  facet: Schemas['Facet']
  address: string | undefined
}

function TileChart({ tile, request, facet, address }: ChartProps) {
  const { kindOf, valueLabel, state } = useSearch()
  const drawing = useRef<SVGSVGElement>(null)
  const dimension = useMemo(() => dimensionOfTile(tile, request, kindOf), [tile, request, kindOf])
  const points = useMemo(
    () => pointsOf(dimension, request.measure, facet, state.conditions[dimension.key], valueLabel),
    [dimension, request, facet, state, valueLabel],
  )
  const name = measureLabel(tile.dataset, request.measure)
  if (points.every((p) => p.value === null || p.count === 0)) {
    return <p className="quiet">What it counts by is unknown of all of them.</p>
  }
  return (
    <>
      <PlotChart
        points={points}
        measure={name}
        label={tile.title}
        onChoose={() => address && go(address)}
        drawingRef={drawing}
      />
      <ChartTable
        title={tile.title}
        dimension={dimension}
        measure={request.measure && name}
        points={points}
        shown={false}
        choose={() => undefined}
      />
      {(facet.other ?? 0) > 0 && <p className="quiet notes">Other values: {formatNumber(facet.other ?? 0)}.</p>}
    </>
  )
}

interface PivotProps {
  tile: Tile
  drawn: Extract<ReturnType<typeof parseTile>['drawn'], { kind: 'pivot' }>
  pivot: Schemas['Pivot']
  /** Whether numbers link to their records. */
  linked: boolean
}

function TilePivot({ tile, drawn, pivot, linked }: PivotProps) {
  const { kindOf } = useSearch()
  const { rows, columns, measure } = drawn
  if (!pivot.rows || pivot.rows.groups.length === 0) return <p className="quiet">Nothing matches its search now.</p>
  return (
    <PivotTable
      pivot={pivot}
      rows={axisOfTile(tile, rows, kindOf)}
      columns={columns ? axisOfTile(tile, columns, kindOf) : undefined}
      measure={measure ?? undefined}
      title={tile.title}
      shown
      addressOf={linked ? format : undefined}
    />
  )
}

/** Height of a map, in pixels. */
const height = 260

function TileMap({ tile, facet }: { tile: Tile; facet: Schemas['Facet'] }) {
  const cells = useMemo(() => facet.geo ?? [], [facet])
  const extent = useMemo(() => extentOf(cells), [cells])
  const known = cells.reduce((sum, c) => sum + c.count, 0)
  if (!extent) return <p className="quiet">None of them has a known location.</p>
  return (
    <>
      <SizedMap
        box={extent}
        cells={cells}
        label={`${tile.title}: ${counted(known, tile.dataset)} in ${cells.length} places`}
      />
      {facet.unknown > 0 && (
        <p className="quiet notes">Without a known location: {counted(facet.unknown, tile.dataset)}.</p>
      )}
    </>
  )
}

/** SizedMap is a map with the available width. It is rendered only once that is known. */
function SizedMap(map: Omit<ComponentProps<typeof StaticMap>, 'width' | 'height'>) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  return (
    <div ref={box} className="static-map tile-map" style={{ height }}>
      <StaticMap {...map} width={width} height={height} />
    </div>
  )
}
