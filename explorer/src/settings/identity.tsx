import type { ScreenProps } from '../shell/screens'
import { Domains } from './domains'
import { OwnProvider } from './provider'

/** Identity is how the people of a workspace sign in by its own OpenID provider. */
export default function Identity({ workspace }: ScreenProps) {
  const administers = workspace.role === 'owner' || workspace.role === 'admin'
  return (
    <>
      <header>
        <h1>Sign-in</h1>
        <p className="lead">
          People of {workspace.name} can sign in by its own OpenID provider, such as Okta, Entra ID or Keycloak.{' '}
          {administers ? <a href="/docs/identity">How to set it up</a> : 'Owners and admins see it and set it up.'}
        </p>
      </header>
      {administers && (
        <>
          <Domains workspace={workspace.id} owner={workspace.role === 'owner'} />
          <OwnProvider workspace={workspace.id} owner={workspace.role === 'owner'} />
        </>
      )}
    </>
  )
}
