import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { boardQuery, boardSaved, isConflict, refusedTiles, saveBoard, type Board } from '../api/boards'
import { didNotWork, notify } from '../ui/toast'
import type { Change } from './changes'

/** Step is a change with what takes it back, if there is a way. */
export interface Step {
  change: Change
  undo?: Change | undefined
  /** It takes another one back: where that is offered says what becomes of it. */
  undoes?: boolean
}

/**
 * useBoardChange changes a board, one change after the other. Changes of a board that somebody
 * else has changed meanwhile are not lost: they wait in conflicts, beside the board as it is now.
 */
export function useBoardChange(workspace: string, board: Board) {
  const client = useQueryClient()
  const { queryKey } = boardQuery(workspace, board.id)
  const [waiting, setWaiting] = useState<Step[]>([])
  const [conflicts, setConflicts] = useState<Step[]>([])
  const save = useMutation({
    scope: { id: `board ${board.id}` },
    mutationFn: async ({ change: { apply, what } }: Step) => {
      // What is being read is of before.
      await client.cancelQueries({ queryKey })
      const before = client.getQueryData(queryKey) ?? board
      const next = apply(before)
      if (!next) throw new Error(`${what}: somebody has taken it off the board`)
      return saveBoard(workspace, { id: board.id, revision: before.revision, ...next })
    },
    onMutate: (step) => setWaiting((all) => [...all, step]),
    onSuccess: (saved, { change, undo }) => {
      boardSaved(client, workspace, saved)
      if (undo) notify(change.what, () => takeBack(undo))
    },
    onError: async (error, step) => {
      if (isConflict(error)) await client.invalidateQueries({ queryKey })
      if (step.undoes) return
      if (isConflict(error)) setConflicts((all) => [...all, step])
      else didNotWork(error)
    },
    onSettled: (_saved, _error, step) => setWaiting((all) => all.filter((s) => s !== step)),
  })
  const takeBack = async (undo: Change) => {
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
    /** The board with all changes that are on their way. */
    shown: waiting.reduce<Board>((b, { change }) => ({ ...b, ...change.apply(b) }), board),
    conflicts,
    dismiss,
    /** change does it, and offers to undo it if there is a way. */
    change: (change: Change, undo?: Change) => save.mutate({ change, undo }),
    /** again does what has waited to the board as it is now. */
    again: (step: Step) => {
      dismiss(step)
      save.mutate({ ...step })
    },
  }
}
