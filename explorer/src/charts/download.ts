import { colourOf } from '../ui/colour'

/** Space for the title above a chart that is downloaded, and around it, in pixels. Elsewhere letters may be wider. */
const space = { title: 36, side: 24, line: 16, letter: 6.5 }

/** pictureOf is a chart as a file: with its title, and with page-specific values, such as colours, resolved. */
export function pictureOf(
  chart: SVGSVGElement,
  title: string,
  conditions = '',
): { svg: string; width: number; height: number } {
  const style = getComputedStyle(chart)
  const colour = (text: string) => text.replaceAll(/var\((--[\w-]+)\)/g, (_, name: string) => colourOf(name))
  const copy = chart.cloneNode(true) as SVGSVGElement
  // The style element is for the page, whose policy forbids to rewrite it; attributes have what a
  // file needs.
  for (const unwanted of copy.querySelectorAll('style, .tip')) unwanted.remove()
  copy.removeAttribute('style')
  for (const element of [copy, ...copy.querySelectorAll('*')]) {
    for (const { name, value } of [...element.attributes]) {
      if (value.includes('var(')) element.setAttribute(name, colour(value))
    }
  }
  const width = Number(chart.getAttribute('width')) + 2 * space.side
  const texts = linesOf(conditions, Math.floor((width - 2 * space.side) / space.letter))
  const top = space.title + texts.length * space.line
  const height = Number(chart.getAttribute('height')) + top + space.side
  const viewBox = [-space.side, -top, width, height]
  const ground = element('rect', { x: -space.side, y: -top, width, height, fill: colour('var(--ground)') })
  const font = { 'font-size': 14, 'font-weight': 600, 'text-anchor': 'start' }
  const heading = element('text', { x: 0, y: space.title - top - 12, ...font, fill: colour('var(--text)') })
  heading.textContent = title
  const lines = texts.map((text, i) => {
    const y = space.title - top - 12 + (i + 1) * space.line
    const line = element('text', { x: 0, y, 'font-size': 12, 'text-anchor': 'start', fill: colour('var(--text-2)') })
    line.textContent = text
    return line
  })
  copy.prepend(ground, heading, ...lines)
  copy.setAttribute('viewBox', viewBox.join(' '))
  copy.setAttribute('width', String(width))
  copy.setAttribute('height', String(height))
  copy.setAttribute('color', style.color)
  copy.setAttribute('font-family', style.fontFamily)
  copy.setAttribute('font-size', style.fontSize)
  return { svg: new XMLSerializer().serializeToString(copy), width, height }
}

/** The lines that conditions have at most. */
const maxLines = 4

/** linesOf wraps a text at spaces; a text that is too long ends with …. */
export function linesOf(text: string, letters: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= letters) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  if (lines.length <= maxLines) return lines
  return [...lines.slice(0, maxLines - 1), `${lines[maxLines - 1] ?? ''} …`]
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
