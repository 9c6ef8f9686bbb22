// What can be wrong.

/** Something in a bundle does not hold: in which member ("" for the whole file), and what. */
export class Broken extends Error {
  constructor(member, what) {
    super(member ? `${member}: ${what}` : what);
    this.member = member;
    this.what = what;
  }
}

/** A value has another shape than its place demands, or JSON is not canonical. */
export class Misshapen extends Error {}

/** There is nothing to verify with: the key cannot be used, or the browser lacks Ed25519. */
export class NoKey extends Error {}

/** Return the sentence that names what does not hold. */
export const sentenceOf = ({member, what}) => (member ? `${member}: ${what}` : what);
