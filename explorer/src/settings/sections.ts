/** sections are the parts of the settings, in their order; the path of each is /settings/path. */
export const sections = [
  { path: 'members', label: 'Members' },
  { path: 'sign-in', label: 'Sign-in' },
  { path: 'provisioning', label: 'Provisioning' },
  { path: 'subscriptions', label: 'Signal alerts' },
  { path: 'webhooks', label: 'Webhooks' },
  { path: 'keys', label: 'API keys' },
  { path: 'usage', label: 'Usage' },
  { path: 'audit', label: 'Audit log' },
] as const

export type SectionPath = (typeof sections)[number]['path']
