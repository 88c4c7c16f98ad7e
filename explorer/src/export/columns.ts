import { rows, type TableName } from '../api/rows'

/** columnsOf are the names of all columns of a file, in the order of a row and of the columns of `atlas export`. */
export const columnsOf = (table: TableName): string[] => Object.keys(rows[table])
