import { useInfiniteQuery, useMutation, type UseMutationResult } from '@tanstack/react-query'
import { useState } from 'react'
import { link } from '../address'
import type { ApiKey } from '../api/api-keys'
import { keyActionsQuery, undoKey, type KeyAction, type UndoneAction } from '../api/key-actions'
import { formatMoment } from '../format'
import { Dialog } from '../ui/dialog'
import { Notice } from '../ui/notice'
import { actionText, isGone, outcomeText, reportText, undoText } from './key-action-texts'

interface Props {
  workspace: string
  of: ApiKey
}

/** KeyActions lists the changes by a key in the workspace, the latest first, with Undo once the key is revoked. */
export default function KeyActions({ workspace, of }: Props) {
  const log = useInfiniteQuery(keyActionsQuery(workspace, of.id))
  const preview = useMutation(undoKey(workspace, of.id))
  const [undoing, setUndoing] = useState(false)
  const actions = log.data?.pages.flatMap((p) => p.actions)
  const revoked = of.state === 'revoked'
  return (
    <section className="key-actions" aria-label={`What ${of.name} did`}>
      {log.error && <Notice error={log.error} retry={() => void log.refetch()} />}
      {log.isPending && <div className="skeleton" style={{ height: 96 }} />}
      {actions?.length === 0 && (
        <p className="quiet">
          It changed nothing that is still known: changes are kept for 90 days, unless the operator says otherwise. What
          it read is in the audit log.
        </p>
      )}
      {actions && actions.length > 0 && (
        <>
          <ol className="deliveries" aria-label="What the key did, the latest first">
            {actions.map((a) => (
              <Action key={a.id} of={a} text={undoText(a)} undone={a.undo === 'nothing_left'} />
            ))}
          </ol>
          <div className="actions">
            {log.hasNextPage && (
              <button className="button" disabled={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
                Show what it did before
              </button>
            )}
            {revoked && (
              <button
                className="button"
                onClick={() => {
                  preview.mutate({ dryRun: true })
                  setUndoing(true)
                }}
              >
                Undo what it did
              </button>
            )}
          </div>
          {!revoked && (
            <p className="quiet">Revoke the key to undo what it did: what it does meanwhile would not be undone.</p>
          )}
        </>
      )}
      {undoing && <Undo workspace={workspace} of={of} preview={preview} close={() => setUndoing(false)} />}
    </section>
  )
}

/** placeOf is the address of an object, undefined for one without a page. */
function placeOf({ kind, object_id, dataset, view_id }: KeyAction | UndoneAction): string | undefined {
  switch (kind) {
    case 'view':
      return `/views/${object_id}`
    case 'membership':
      return view_id && `/views/${view_id}`
    case 'board':
      return `/boards/${object_id}`
    case 'overlay':
      return dataset && `/book/${dataset}/${object_id}`
    default:
      return undefined
  }
}

function Action({ of, text, undone }: { of: KeyAction | UndoneAction; text: string; undone: boolean }) {
  const place = isGone(of, undone) ? undefined : placeOf(of)
  return (
    <li>
      <span className="who">
        <b>{actionText(of)}</b>
        <span>
          {formatMoment(new Date(of.at))}
          {of.action === 'changed' && of.fields.length > 0 && <bdi>, {of.fields.join(', ')}</bdi>} · {text}
        </span>
      </span>
      {place && (
        <a className="button" {...link(place)} aria-label={`Open: ${actionText(of)}, ${of.object_id}`}>
          Open
        </a>
      )}
    </li>
  )
}

interface UndoProps extends Props {
  preview: UseMutationResult<UndoneAction[], Error, { dryRun: boolean }>
  close: () => void
}

/** Undo shows what will be undone and what not, from a dry run, and then reports the outcome. */
function Undo({ workspace, of, preview, close }: UndoProps) {
  const undo = useMutation(undoKey(workspace, of.id))
  const done = undo.data
  const shown = done ?? preview.data
  const possible = shown?.some((a) => a.outcome === 'undone') ?? false
  return (
    <Dialog title={done ? 'What was undone' : 'Undo what the key did?'} onClose={undo.isPending ? undefined : close}>
      {preview.isPending && (
        <p className="quiet" role="status">
          Looking at what would be undone…
        </p>
      )}
      {preview.error && <Notice error={preview.error} refused="It cannot be undone" />}
      {shown && (
        <>
          <p role="status">
            <b>{reportText(shown, !done)}</b>{' '}
            {!done && 'Each object becomes what it was before the key, where nobody else has changed it since.'}
          </p>
          <ol className="deliveries" aria-label={done ? 'What became of it' : 'What would become of it'} tabIndex={0}>
            {shown.map((a) => (
              <Action
                key={a.id}
                of={a}
                text={outcomeText(a, !done)}
                undone={a.outcome === 'nothing_left' || (a.outcome === 'undone' && done !== undefined)}
              />
            ))}
          </ol>
        </>
      )}
      {undo.error && <Notice error={undo.error} refused="Not everything was undone: try again" />}
      <div className="actions">
        {/* The button that had the focus is removed then. */}
        <button key={done ? 'done' : 'cancel'} className="button" autoFocus disabled={undo.isPending} onClick={close}>
          {done ? 'Done' : 'Cancel'}
        </button>
        {preview.data && !done && possible && (
          <button className="button danger" disabled={undo.isPending} onClick={() => undo.mutate({ dryRun: false })}>
            {undo.isPending ? 'Undoing…' : 'Undo it'}
          </button>
        )}
      </div>
    </Dialog>
  )
}
