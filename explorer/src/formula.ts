/**
 * likeFormula matches texts that a spreadsheet may evaluate, as cmd/internal/search/csv.go
 * does. Some spreadsheets skip leading spaces and control characters, and East Asian ones
 * accept fullwidth signs.
 */
export const likeFormula = /^(?:[\t\r\n]|[\u0000-\u0020\u00a0\u3000\ufeff]*[=+\-@＝＋－＠])/
