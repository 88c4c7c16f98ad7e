import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { boardQuery, boardSaved, isConflict, saveBoard, type Board } from '../api/boards'
import { didNotWork, notify } from '../ui/toast'

/** Change is what somebody does to a board. It can be done to the board of somebody else, too. */
export interface Change {
  /** What it is, for people: "Moving “Cost by stage”". */
  what: string
  /** apply returns what becomes of a board; undefined if there is nothing to do it to anymore. */
  apply: (board: Board) => Partial<Pick<Board, 'name' | 'tiles'>> | undefined
}

/**
 * useBoardChange changes a board, one change after the other. A change of a board that somebody
 * else has changed meanwhile is not lost: it waits in conflict, beside the board as it is now.
 */
export function useBoardChange(workspace: string, board: Board) {
  const client = useQueryClient()
  const { queryKey } = boardQuery(workspace, board.id)
  const [waiting, setWaiting] = useState<Change[]>([])
  const [conflict, setConflict] = useState<Change>()
  const save = useMutation({
    scope: { id: `board ${board.id}` },
    mutationFn: async ({ apply, what }: Change) => {
      // What is being read is of before.
      await client.cancelQueries({ queryKey })
      const before = client.getQueryData(queryKey) ?? board
      const next = apply(before)
      if (!next) throw new Error(`${what}: somebody has taken it off the board`)
      return saveBoard(workspace, { id: board.id, revision: before.revision, ...next })
    },
    onMutate: (change) => setWaiting((all) => [...all, change]),
    onSuccess: (saved) => boardSaved(client, workspace, saved),
    onError: async (error, change) => {
      if (!isConflict(error)) return didNotWork(error)
      await client.invalidateQueries({ queryKey })
      setConflict(change)
    },
    onSettled: (_saved, _error, change) => setWaiting((all) => all.filter((c) => c !== change)),
  })
  const shown = waiting.reduce<Board>((b, { apply }) => ({ ...b, ...apply(b) }), board)
  return {
    /** The board with all changes that are on their way. */
    shown,
    conflict,
    dismiss: () => setConflict(undefined),
    /** change does it, and offers to undo it if there is a way. */
    change: (change: Change, undo?: Change) => {
      setConflict(undefined)
      save.mutate(change, {
        onSuccess: () => {
          if (undo) notify(change.what, () => save.mutateAsync(undo))
        },
      })
    },
  }
}
