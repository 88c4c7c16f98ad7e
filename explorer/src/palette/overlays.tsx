import { lazy, Suspense, useEffect, useState } from 'react'
import type { ScreenProps } from '../shell/screens'
import { isTyping } from '../ui/is-typing'
import { overlayEvent, type Overlay } from './show'

// The first screen has only the keys that open them, not their code.
const Palette = lazy(() => import('./palette'))
const Keys = lazy(() => import('./keys'))

/** Overlays are what a key opens on every screen. */
export function Overlays(props: ScreenProps) {
  const [open, setOpen] = useState<Overlay>()
  useEffect(() => {
    const listen = (e: KeyboardEvent) => {
      const command = (e.metaKey || e.ctrlKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === 'k'
      const asked = e.key === '?' && !isTyping(e) && !e.metaKey && !e.ctrlKey && !e.altKey
      if (!command && !asked) return
      if (document.querySelector('dialog[open]')) {
        // The same key closes it.
        if (command) {
          setOpen((now) => (now === 'palette' ? undefined : now))
          e.preventDefault()
        }
        return
      }
      e.preventDefault()
      setOpen(command ? 'palette' : 'keys')
    }
    const asked = (e: Event) => setOpen((e as CustomEvent<Overlay>).detail)
    addEventListener('keydown', listen)
    addEventListener(overlayEvent, asked)
    return () => {
      removeEventListener('keydown', listen)
      removeEventListener(overlayEvent, asked)
    }
  }, [])
  // The close event may arrive after another overlay was opened.
  const closed = (what: Overlay) => () => setOpen((now) => (now === what ? undefined : now))
  return (
    <Suspense>
      {open === 'palette' && <Palette {...props} onClose={closed('palette')} />}
      {open === 'keys' && <Keys onClose={closed('keys')} />}
    </Suspense>
  )
}
