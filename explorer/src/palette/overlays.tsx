import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import type { ScreenProps } from '../shell/screens'
import { isTyping } from '../ui/is-typing'
import { overlayEvent, type Overlay } from './show'

// The first screen has only the keys that open them, not their code.
const Palette = lazy(() => import('./palette'))
const Keys = lazy(() => import('./keys'))

/** Overlays are what a key opens on every screen. */
export function Overlays(props: ScreenProps) {
  const [open, setOpen] = useState<{ what: Overlay; nth: number }>()
  const opened = useRef(0)
  useEffect(() => {
    const show = (what: Overlay) => setOpen({ what, nth: ++opened.current })
    const listen = (e: KeyboardEvent) => {
      const command = (e.metaKey || e.ctrlKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === 'k'
      // A closed palette can have the focus until the next frame.
      const typing = isTyping(e) && (e.target as Element).checkVisibility()
      const isHelpKey = e.key === '?' && !typing && !e.metaKey && !e.ctrlKey && !e.altKey
      if (!command && !isHelpKey) return
      if (document.querySelector('dialog[open]')) {
        // The same key closes it.
        if (command) {
          setOpen((now) => (now?.what === 'palette' ? undefined : now))
          e.preventDefault()
        }
        return
      }
      e.preventDefault()
      show(command ? 'palette' : 'keys')
    }
    const open = (e: Event) => show((e as CustomEvent<Overlay>).detail)
    addEventListener('keydown', listen)
    addEventListener(overlayEvent, open)
    return () => {
      removeEventListener('keydown', listen)
      removeEventListener(overlayEvent, open)
    }
  }, [])
  // The close event may arrive after another overlay, or the same one, was opened.
  const close = () => setOpen((now) => (now?.nth === open?.nth ? undefined : now))
  return (
    <Suspense>
      {open?.what === 'palette' && <Palette key={open.nth} {...props} onClose={close} />}
      {open?.what === 'keys' && <Keys key={open.nth} onClose={close} />}
    </Suspense>
  )
}
