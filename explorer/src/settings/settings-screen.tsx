import '../ui/page.css'
import './settings.css'
import { useEffect } from 'react'
import { link, useAddress } from '../address'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { ApiKeys } from './api-keys'
import { Members } from './members'
import { Subscriptions } from './subscriptions'
import { Usage } from './usage'
import { Webhooks } from './webhooks'

const sections = [
  { path: 'members', label: 'Members', Section: Members },
  { path: 'subscriptions', label: 'Signal alerts', Section: Subscriptions },
  { path: 'webhooks', label: 'Webhooks', Section: Webhooks },
  { path: 'keys', label: 'API keys', Section: ApiKeys },
  { path: 'usage', label: 'Usage', Section: Usage },
]

/** SettingsScreen is /settings/members, /settings/subscriptions, /settings/webhooks, /settings/keys and /settings/usage. */
export default function SettingsScreen(props: ScreenProps) {
  const [, , path] = useAddress().path.split('/')
  const { label, Section } = sections.find((s) => s.path === path) ?? (sections[0] as (typeof sections)[number])
  useEffect(() => {
    document.title = `${label} · Atlas`
  }, [label])
  return (
    <div className="screen">
      <Top workspace={props.workspace} />
      <div className="page settings">
        <nav aria-label="Settings">
          {sections.map((s) => (
            <a key={s.path} {...link(`/settings/${s.path}`)} aria-current={s.label === label ? 'page' : undefined}>
              {s.label}
            </a>
          ))}
        </nav>
        <main className="page-column">
          <Section {...props} />
        </main>
      </div>
    </div>
  )
}
