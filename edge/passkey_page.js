"use strict";
const main = document.querySelector("main"), button = document.querySelector("button"), place = document.getElementById("said");
const asked = main.dataset;

/** Say what became of it; the button stays where it can be pressed again. */
function say(text, isGood, isOver) {
  place.textContent = text;
  place.className = isGood ? "good" : "bad";
  button.disabled = isOver;
}

const toBytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));

const toText = (buffer) => btoa(Array.from(new Uint8Array(buffer), (one) => String.fromCharCode(one)).join(""))
  .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

const known = (asked.known ? asked.known.split(" ") : []).map((id) => ({type: "public-key", id: toBytes(id)}));

/** Have the authenticator sign. */
async function sign() {
  const {rawId, response} = await navigator.credentials.get({publicKey: {
    challenge: toBytes(asked.challenge), rpId: asked.party, allowCredentials: known, userVerification: "required",
  }});
  return {
    credential_id: toText(rawId),
    authenticator_data: toText(response.authenticatorData),
    client_data: toText(response.clientDataJSON),
    signature: toText(response.signature),
  };
}

/** Have the authenticator make a passkey. */
async function make() {
  const {rawId, response} = await navigator.credentials.create({publicKey: {
    challenge: toBytes(asked.challenge),
    rp: {id: asked.party, name: "Countersign"},
    user: {id: new TextEncoder().encode(asked.person).slice(0, 64), name: asked.person, displayName: asked.name},
    pubKeyCredParams: [-7, -8, -257].map((alg) => ({type: "public-key", alg})),
    excludeCredentials: known,
    authenticatorSelection: {userVerification: "required", residentKey: "discouraged"},
    attestation: "none",
  }});
  return {
    credential_id: toText(rawId),
    attestation_object: toText(response.attestationObject),
    client_data: toText(response.clientDataJSON),
  };
}

/** Ask the authenticator; undefined where it gave nothing. */
async function ask() {
  try {
    return await (asked.act === "sign" ? sign() : make());
  } catch (error) {
    const why = error.name === "NotAllowedError" ? "It was canceled, or took too long." : `Your browser says: ${error.message}`;
    say(`Nothing was done. ${why} You can try again here.`, false, false);
    return undefined;
  }
}

button.addEventListener("click", async () => {
  button.disabled = true;
  const made = await ask();
  if (made === undefined) return;
  try {
    const answer = await fetch(`${location.pathname}/${asked.act === "sign" ? "signature" : "passkey"}`, {
      method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(made),
    });
    const {done, detail} = await answer.json();
    say(detail, done === true, answer.status < 500);
  } catch {
    say("There was no answer. Press the button again: it counts once.", false, false);
  }
});
