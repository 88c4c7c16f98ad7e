import './welcome.css'
import { useState } from 'react'
import { link } from '../address'
import { isMac } from '../ui/is-mac'
import { dismissWelcome } from './first-visit'

const example = 'multifamily under construction calgary over 1m'

/** Welcome introduces the three most important things. It can be dismissed for good. */
export default function Welcome() {
  const [gone, setGone] = useState(false)
  if (gone) return null
  return (
    <section className="welcome" aria-labelledby="welcome">
      <h2 id="welcome">Three things to know</h2>
      <ol>
        <li>
          <b>Counting is free.</b> Every number here follows your filters. A row costs one credit when you read it, and
          each button says its price first.
        </li>
        <li>
          <b>Ask in words.</b> Type{' '}
          <a {...link(`/projects?q=${encodeURIComponent(example).replaceAll('%20', '+')}`)}>{example}</a>, and take the
          conditions that are offered above the results.
        </li>
        <li>
          <b>Keep what works.</b> “Save as View” finds new records by itself, and its bell tells you of them.{' '}
          <span className="keys">
            <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd> finds everything by its name.
          </span>
        </li>
      </ol>
      <button
        className="button"
        onClick={() => {
          dismissWelcome()
          setGone(true)
          // The focus would be lost with the button.
          document.getElementById('search')?.focus()
        }}
      >
        Got it
      </button>
    </section>
  )
}
