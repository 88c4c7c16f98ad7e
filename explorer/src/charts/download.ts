import { colourOf } from '../ui/colour'

/** Space for the title above a chart that is downloaded, and around it, in pixels. Elsewhere letters may be wider. */
const space = { title: 36, side: 24 }

/**
 * pictureOf is a chart as a file: with its title, and without what only a page knows, such
 * as the values of its colours.
 */
export function pictureOf(chart: SVGSVGElement, title: string): { svg: string; width: number; height: number } {
  const style = getComputedStyle(chart)
  const colour = (text: string) => text.replaceAll(/var\((--[\w-]+)\)/g, (_, name: string) => colourOf(name))
  const copy = chart.cloneNode(true) as SVGSVGElement
  // The style is for the page, whose policy forbids to write it anew; attributes say what a file needs.
  for (const unwanted of copy.querySelectorAll('style, .tip')) unwanted.remove()
  copy.removeAttribute('style')
  for (const element of [copy, ...copy.querySelectorAll('*')]) {
    for (const { name, value } of [...element.attributes]) {
      if (value.includes('var(')) element.setAttribute(name, colour(value))
    }
  }
  const width = Number(chart.getAttribute('width')) + 2 * space.side
  const height = Number(chart.getAttribute('height')) + space.title + space.side
  const viewBox = [-space.side, -space.title, width, height]
  const ground = element('rect', { x: -space.side, y: -space.title, width, height, fill: colour('var(--ground)') })
  const font = { 'font-size': 14, 'font-weight': 600, 'text-anchor': 'start' }
  const heading = element('text', { x: 0, y: -12, ...font, fill: colour('var(--text)') })
  heading.textContent = title
  copy.prepend(ground, heading)
  copy.setAttribute('viewBox', viewBox.join(' '))
  copy.setAttribute('width', String(width))
  copy.setAttribute('height', String(height))
  copy.setAttribute('color', style.color)
  copy.setAttribute('font-family', style.fontFamily)
  copy.setAttribute('font-size', style.fontSize)
  return { svg: new XMLSerializer().serializeToString(copy), width, height }
}

function element(name: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
  return made
}

/** Pixels of a PNG in a pixel of the page. */
const density = 2

/** png draws a picture. */
export async function png({ svg, width, height }: ReturnType<typeof pictureOf>): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }))
  try {
    const image = new Image()
    image.src = address
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = width * density
    canvas.height = height * density
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height)
    return await new Promise((done, fail) =>
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error('the picture is too large')))),
    )
  } finally {
    URL.revokeObjectURL(address)
  }
}
