import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { boardQuery, boardSaved, isConflict, refusedTiles, saveBoard, type Board } from '../api/boards'
import { notifyFailure, notify } from '../ui/toast'
import type { Change } from './changes'

/** Step is a change with its inverse, if there is one. */
export interface Step {
  change: Change
  undo?: Change | undefined
  /** It undoes another one: the result is shown where the undo was offered. */
  undoes?: boolean
}

/**
 * useBoardChange changes a board, one change after the other. Changes that conflict with somebody
 * else's are not lost: they wait in conflicts, beside the current board.
 */
export function useBoardChange(workspace: string, board: Board) {
  const client = useQueryClient()
  const { queryKey } = boardQuery(workspace, board.id)
  const [waiting, setWaiting] = useState<Step[]>([])
  const [conflicts, setConflicts] = useState<Step[]>([])
  const save = useMutation({
    scope: { id: `board ${board.id}` },
    mutationFn: async ({ change: { apply, what } }: Step) => {
      // A read in progress would be outdated.
      await client.cancelQueries({ queryKey })
      const before = client.getQueryData(queryKey) ?? board
      const next = apply(before)
      if (!next) throw new Error(`${what}: somebody has taken it off the board`)
      return saveBoard(workspace, { id: board.id, revision: before.revision, ...next })
    },
    onMutate: (step) => setWaiting((all) => [...all, step]),
    onSuccess: (saved, { change, undo }) => {
      boardSaved(client, workspace, saved)
      if (undo) notify(change.what, () => undoChange(undo))
    },
    onError: async (error, step) => {
      if (isConflict(error)) await client.invalidateQueries({ queryKey })
      if (step.undoes) return
      if (isConflict(error)) setConflicts((all) => [...all, step])
      else notifyFailure(error)
    },
    onSettled: (_saved, _error, step) => setWaiting((all) => all.filter((s) => s !== step)),
  })
  const undoChange = async (undo: Change) => {
    try {
      await save.mutateAsync({ change: undo, undoes: true })
    } catch (error) {
      if (isConflict(error)) throw new Error('somebody has changed the board meanwhile. Undo does it to theirs.')
      if (refusedTiles(error).size === 0) throw error
      notify('That cannot be undone: what the tile counts is gone')
    }
  }
  const dismiss = (step: Step) => setConflicts((all) => all.filter((s) => s !== step))
  return {
    /** The board with all pending changes. */
    shown: waiting.reduce<Board>((b, { change }) => ({ ...b, ...change.apply(b) }), board),
    conflicts,
    dismiss,
    /** change applies a change, and offers to undo it if possible. */
    change: (change: Change, undo?: Change) => save.mutate({ change, undo }),
    /** retry applies a conflicting change to the current board. */
    retry: (step: Step) => {
      dismiss(step)
      save.mutate({ ...step })
    },
  }
}
