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
    const map = new MapGL({
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
    map.touchZoomRotate.disableRotation()
    map.keyboard.disableRotation()
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const paint = () => {
      const c = colours()
      for (const { id, paint = {} } of [...layersOf(c), ...streetLayers(c), ...cityLayers(c)]) {
        if (!map.getLayer(id)) continue
        for (const [name, value] of Object.entries(paint)) map.setPaintProperty(id, name as 'fill-color', value)
      }
    }
    const theme = new MutationObserver(paint)
    let removed = false
    map.once('style.load', () => {
      setMap(map)
      dark.addEventListener('change', paint)
      theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
      void addBase(map, colours(), () => removed).then((whose) => !removed && setCredit(whose))
      void import('virtual:outlines/fine').then(({ default: data }) => {
        if (!removed) map.getSource<GeoJSONSource>('outlines')?.setData(data)
      })
    })
    return () => {
      removed = true
      dark.removeEventListener('change', paint)
      theme.disconnect()
      setMap(undefined)
      map.remove()
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
