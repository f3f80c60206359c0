// Rows of Parquet files as JSON lines, in TABLE.rows: read.mjs duckdb|hyparquet FOLDER TABLE...
//
// The packages are in $NODE_PACKAGES: scripts/install-deps.
import { createRequire } from 'module'
import fs from 'fs'
import path from 'path'
import { pathToFileURL } from 'url'

const require = createRequire(process.env.NODE_PACKAGES + '/')
const load = async name => import(pathToFileURL(require.resolve(name)))
const text = row => JSON.stringify(row, (key, value) =>
  typeof value === 'bigint' ? `#${value}#` : value).replace(/"#(-?\d+)#"/g, '$1') + '\n'

// the keys that are in the path, as Hive has them
function keys(file) {
  const found = {}
  for (const part of file.split('/')) {
    const [key, value] = part.split('=')
    if (value !== undefined)
      found[key] = value === '__HIVE_DEFAULT_PARTITION__' ? null : decodeURIComponent(value)
  }
  return found
}

async function duckdb(folder) {
  const { DuckDBInstance } = await load('@duckdb/node-api')
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  return async table => {
    const rows = await connection.runAndReadAll(`SELECT * FROM read_parquet(
      '${folder}/${table}/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)`)
    return rows.getRowObjects()
  }
}

async function hyparquet(folder) {
  const { parquetReadObjects, asyncBufferFromFile } = await load('hyparquet')
  const { compressors } = await load('hyparquet-compressors')
  return async table => {
    const rows = []
    for (const name of fs.readdirSync(path.join(folder, table), { recursive: true })) {
      if (!name.endsWith('.parquet')) continue
      const file = await asyncBufferFromFile(path.join(folder, table, name))
      for (const row of await parquetReadObjects({ file, compressors }))
        rows.push({ ...row, ...keys(name) })
    }
    return rows
  }
}

const [reader, folder, ...tables] = process.argv.slice(2)
const read = await { duckdb, hyparquet }[reader](folder)
for (const table of tables)
  fs.writeFileSync(`${table}.rows`, (await read(table)).map(text).join(''))
