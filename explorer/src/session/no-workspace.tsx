import './session.css'
import type { User } from '../api/session'
import { Mark } from '../ui/mark'
import { SignOut } from './sign-out'
import { Workspaces } from './workspaces'

/** NoWorkspace is the page of a user who is not in the workspace of the address, or in none. */
export function NoWorkspace({ user, retry }: { user: User; retry: () => void }) {
  const some = (user.workspaces?.length ?? 0) > 0
  return (
    <main className="standalone">
      <div className="sheet">
        <Mark />
        <h1>{some ? 'You are not in this workspace' : 'You are not in a workspace yet'}</h1>
        <p>
          You are signed in{user.email && ` as ${user.email}`}.{' '}
          {some
            ? 'Ask an owner or admin of the workspace to invite you, or open one of yours.'
            : 'Ask an owner or admin of a workspace to invite you, or your administrator to add you.'}
        </p>
        {some && <Workspaces user={user} />}
        <div className="actions">
          <button className="button" onClick={retry}>
            Try again
          </button>
          <SignOut />
        </div>
        <p className="quote">
          Your administrator may ask for your user id: <code>{user.id}</code>
        </p>
      </div>
    </main>
  )
}
