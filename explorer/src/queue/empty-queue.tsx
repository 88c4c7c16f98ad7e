import { link } from '../address'
import { format, type QueueState } from './state'

/** NoSubscriptions explains the queue to a workspace that follows no type of signal. */
export function NoSubscriptions() {
  return (
    <div className="notice">
      <h2>No type of signal is followed</h2>
      <p>
        A signal is something that happened to a project: a permit was issued, construction began. Signals of the types
        that you choose come here from then on, and the bell counts them. That costs nothing; reading one costs a
        credit.
      </p>
      <a className="button primary" {...link('/settings/subscriptions')}>
        Choose signals to follow
      </a>
    </div>
  )
}

/** EmptyQueue says why the queue has no signal to show. */
export function EmptyQueue({ state }: { state: QueueState }) {
  return (
    <div className="notice">
      <h2>{state.dismissed ? 'Nothing is dismissed' : 'Nothing is unread'}</h2>
      <p>
        {format(state) === format({ inBook: false, dismissed: state.dismissed })
          ? state.dismissed
            ? 'What you dismiss is kept here, and can be restored.'
            : 'Signals come here when Atlas gets them, whatever day they happened. The bell at the top counts them.'
          : 'No signal of the queue is like that.'}
      </p>
    </div>
  )
}
