// The ZIP in its one form, in which the members decide every byte.

import {Broken} from "./errors.js";
import {MAX_MEMBER_SIZE, MAX_MEMBERS, PATH, SUMMARY} from "./names.js";

const ZIP_LOCAL = {
  title: "local header",
  size: 30,
  fields: [
    ["signature", 4, 0x04034b50], ["version", 2, 20], ["flags", 2, 0], ["compression_method", 2, 0], ["time", 2, 0],
    ["date", 2, 33], ["crc", 4], ["stored_size", 4], ["size", 4], ["name_length", 2], ["extra_length", 2, 0],
  ],
};

const ZIP_CENTRAL = {
  title: "central directory",
  size: 46,
  fields: [
    ["signature", 4, 0x02014b50], ["made_by", 2, 788], ["version", 2, 20], ["flags", 2, 0],
    ["compression_method", 2, 0], ["time", 2, 0], ["date", 2, 33], ["crc", 4], ["stored_size", 4], ["size", 4],
    ["name_length", 2], ["extra_length", 2, 0], ["comment_length", 2, 0], ["disk", 2, 0], ["internal_attributes", 2, 0],
    ["file_mode", 4, 0x81a40000], ["offset", 4],
  ],
};

const ZIP_END = {
  title: "end of the central directory",
  size: 22,
  fields: [
    ["signature", 4, 0x06054b50], ["disk", 2, 0], ["directory_disk", 2, 0], ["entries_here", 2], ["entries", 2],
    ["directory_size", 4], ["directory_offset", 4], ["comment_length", 2, 0],
  ],
};

const ZIP_HINTS = {
  signature: "something else stands here",
  flags: "encrypted, or of unknown size",
  compression_method: "compressed",
  file_mode: "a link, a folder or a device",
  comment_length: "it carries a comment",
  extra_length: "it carries extra fields",
};

/** Return the CRC-32 of each byte. */
const CRC_TABLE = Uint32Array.from({length: 256}, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** Return the CRC-32 of bytes. */
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ byte) & 255];
  return (crc ^ 0xffffffff) >>> 0;
}

/** Return the number of two or four bytes at a place. */
const numberAt = (zip, place, size) => (size === 4 ? zip.view.getUint32(place, true) : zip.view.getUint16(place, true));

/** Raise unless so many bytes stand at a place. */
function demandBytes(zip, place, size, member) {
  if (place + size > zip.bytes.length) throw new Broken(member, "the file ends too early");
}

/** Raise, naming the first field that differs, unless a record of this form with these values stands at a place. */
function demandRecord(zip, place, form, values, member) {
  let at = place;
  for (const [name, size, fixed] of form.fields) {
    const is = numberAt(zip, at, size), must = values[name] ?? fixed;
    const hint = ZIP_HINTS[name] ? ` (${ZIP_HINTS[name]})` : "";
    if (is !== must) throw new Broken(member, `${form.title}: ${name} is ${is}, not ${must}${hint}`);
    at += size;
  }
}

/** Return whether bytes are the ASCII of a text. */
const isText = (bytes, text) => bytes.length === text.length && bytes.every((byte, i) => byte === text.charCodeAt(i));

/** Return whether a member stands before another: the page for people comes first, then each by its name. */
const comesBefore = (one, other) => (other === SUMMARY ? false : one === SUMMARY || one < other);

/** Read the member whose local header stands at a place; `last` is the name before it. */
function readMember(zip, place, last) {
  demandBytes(zip, place, ZIP_LOCAL.size, "");
  const crc = numberAt(zip, place + 14, 4), size = numberAt(zip, place + 22, 4), length = numberAt(zip, place + 26, 2);
  const start = place + ZIP_LOCAL.size;
  demandBytes(zip, start, length, "");
  const name = String.fromCharCode(...zip.bytes.subarray(start, start + Math.min(length, 256)));
  if (length > 255 || !new RegExp(`^${PATH}$`).test(name)) {
    throw new Broken("", `a member's name is not a plain relative path: ${JSON.stringify(name)}`);
  }
  if (last && !comesBefore(last, name)) {
    throw new Broken(name, name === last ? "appears twice" : `out of order: stands after ${last}`);
  }
  if (size > MAX_MEMBER_SIZE) throw new Broken(name, `larger than ${MAX_MEMBER_SIZE} bytes`);
  demandRecord(zip, place, ZIP_LOCAL, {crc, stored_size: size, size, name_length: length}, name);
  demandBytes(zip, start + length, size, name);
  const data = zip.bytes.subarray(start + length, start + length + size);
  if (crc32(data) !== crc) throw new Broken(name, "its CRC-32 does not fit its data");
  return {name, data, crc, offset: place, end: start + length + size};
}

/** Raise unless the directory's entry for a member stands at a place; return where the next one does. */
function demandEntry(zip, place, {name, data, crc, offset}) {
  const size = data.length, start = place + ZIP_CENTRAL.size;
  demandBytes(zip, place, ZIP_CENTRAL.size + name.length, name);
  demandRecord(zip, place, ZIP_CENTRAL, {crc, stored_size: size, size, name_length: name.length, offset}, name);
  if (!isText(zip.bytes.subarray(start, start + name.length), name)) {
    throw new Broken(name, `${ZIP_CENTRAL.title}: another name`);
  }
  return start + name.length;
}

/** Return the members of an archive, name to bytes, in their order. */
export function unpack(bytes) {
  const zip = {bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length)};
  const found = [];
  let place = 0, last = "";
  while (isText(bytes.subarray(place, place + 4), "PK\x03\x04")) {
    const member = readMember(zip, place, last);
    found.push(member);
    if (found.length > MAX_MEMBERS) throw new Broken("", `more than ${MAX_MEMBERS} members`);
    place = member.end;
    last = member.name;
  }
  if (!found.length && !isText(bytes.subarray(0, 4), "PK\x05\x06")) throw new Broken("", "this is no ZIP archive");
  const start = place;
  for (const member of found) place = demandEntry(zip, place, member);
  demandBytes(zip, place, ZIP_END.size, "");
  const [entries, directory_size] = [found.length, place - start];
  const end = {entries_here: entries, entries, directory_size, directory_offset: start};
  demandRecord(zip, place, ZIP_END, end, "");
  if (place + ZIP_END.size !== bytes.length) throw new Broken("", "data after the end of the archive");
  return new Map(found.map(({name, data}) => [name, data]));
}
