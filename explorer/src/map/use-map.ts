import { Map as MapGL, setWorkerUrl, type GeoJSONSource } from 'maplibre-gl'
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?url'
import { useEffect, useState, type RefObject } from 'react'
import { maxZoom } from './tiles'
import { addBase, cityLayers, streetLayers } from './streets'
import { colours, layersOf, styleOf } from './style'

// The policy of the page allows a worker of the same origin only.
setWorkerUrl(workerUrl)

/**
 * useMap creates the map of an element. It is undefined until its style is loaded. Credit is the
 * attribution of the streets.
 */
export function useMap(
  element: RefObject<HTMLElement | null>,
  title: string,
): { map: MapGL | undefined; credit: string | undefined } {
  const [map, setMap] = useState<MapGL>()
  const [credit, setCredit] = useState<string>()
  useEffect(() => {
    if (!element.current) return
    const made = new MapGL({
      container: element.current,
      style: styleOf(colours()),
      maxZoom,
      renderWorldCopies: false,
      attributionControl: false,
      dragRotate: false,
      pitchWithRotate: false,
      maxPitch: 0,
      fadeDuration: 0,
      locale: { 'Map.Title': title },
    })
    made.touchZoomRotate.disableRotation()
    made.keyboard.disableRotation()
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const paint = () => {
      const c = colours()
      for (const { id, paint = {} } of [...layersOf(c), ...streetLayers(c), ...cityLayers(c)]) {
        if (!made.getLayer(id)) continue
        for (const [name, value] of Object.entries(paint)) made.setPaintProperty(id, name as 'fill-color', value)
      }
    }
    const theme = new MutationObserver(paint)
    let gone = false
    made.once('style.load', () => {
      setMap(made)
      dark.addEventListener('change', paint)
      theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
      void addBase(made, colours(), () => gone).then((whose) => !gone && setCredit(whose))
      void import('virtual:outlines/fine').then(({ default: data }) => {
        if (!gone) made.getSource<GeoJSONSource>('outlines')?.setData(data)
      })
    })
    return () => {
      gone = true
      dark.removeEventListener('change', paint)
      theme.disconnect()
      setMap(undefined)
      made.remove()
    }
  }, [element, title])
  return { map, credit }
}

/** useSource updates a source of the map. */
export function useSource(map: MapGL | undefined, name: string, features: GeoJSON.Feature[]): void {
  useEffect(() => {
    map?.getSource<GeoJSONSource>(name)?.setData({ type: 'FeatureCollection', features })
  }, [map, name, features])
}
