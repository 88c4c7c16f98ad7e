import { signOut } from '../api/session'

/** SignOut is the button of a page that has no header. */
export function SignOut() {
  return (
    <button className="button" onClick={() => void signOut()}>
      Sign out
    </button>
  )
}
