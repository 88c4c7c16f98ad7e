import '../ui/page.css'
import './settings.css'
import { lazy, Suspense, useEffect, type ComponentType } from 'react'
import { link, useAddress } from '../address'
import type { ScreenProps } from '../shell/screens'
import { Top } from '../shell/top'
import { ApiKeys } from './api-keys'
import { AuditLog } from './audit-log'
import { Members } from './members'
import { sections, type SectionPath } from './sections'
import { Subscriptions } from './subscriptions'
import { Usage } from './usage'
import { Webhooks } from './webhooks'

const components: Record<SectionPath, ComponentType<ScreenProps>> = {
  members: Members,
  'sign-in': lazy(() => import('./identity')),
  provisioning: lazy(() => import('./provisioning')),
  subscriptions: Subscriptions,
  webhooks: Webhooks,
  keys: ApiKeys,
  usage: Usage,
  audit: AuditLog,
}

/** SettingsScreen shows the section of the address, or the first. */
export default function SettingsScreen(props: ScreenProps) {
  const [, , path] = useAddress().path.split('/')
  const { path: section, label } = sections.find((s) => s.path === path) ?? sections[0]
  const Section = components[section]
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
          <Suspense fallback={<div className="skeleton" style={{ height: 144 }} />}>
            <Section {...props} />
          </Suspense>
        </main>
      </div>
    </div>
  )
}
