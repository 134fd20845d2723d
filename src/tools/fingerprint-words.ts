/** A certificate's fingerprint as words, which two people can compare over a phone. */

/** Eight bytes, 64 bits: nobody makes a certificate with the same ones on purpose. */
const WORDS = 8;

/** One for each value of a byte; no two begin with the same four letters. */
const OF_A_BYTE = `
acorn actor album alley amber angle ankle apple apron arena argue arrow atlas attic aunt autumn
bacon badge baker bamboo banjo barn basil beach beard berry bicycle birch biscuit blanket boat bonfire
border bottle bowl bread breeze brick bridge broom brush bucket bugle butter cabin cactus camel camp
candle canoe captain carpet castle cave cedar cello cement chair cheese cherry chess chimney circus citrus
clay cliff clock cloud clover coal coffee comb compass copper coral cork cotton cousin crane creek
crown cruise crystal cupboard curtain cushion daisy dance dawn deer denim desert desk diamond dinner dolphin
donkey door dragon drum duck dune eagle earth east easel echo edge eggs elbow elephant elm
engine evening fabric falcon family farm feather fence ferry field finger fire flag flour flute fog
forest fork fossil fountain fox frame frog fruit garden garlic gate ginger giraffe glass glove goat
gold goose grape gravel green guitar hammer harbor harp hat hawk hazel heart hedge helmet herb
hill honey hook horse hotel house igloo ink iron island ivory ivy jacket jaguar jam jar
jelly jewel judge jungle kettle key king kitchen kite ladder lake lamp lantern leaf lemon library
lily lion lizard lobster lock lunch magnet maple marble market meadow melon metal milk mirror monkey
moon moss motor mountain museum mushroom nail needle nest night nose oak oasis ocean olive onion
opera orange orchard otter oven owl oyster paint palace panda paper parrot peach pearl pencil penguin
pepper piano pigeon pillow pine planet plum pocket pony potato pumpkin puzzle queen quilt rabbit radio
`
  .trim()
  .split(/\s+/);

/** The words of a SHA-256 fingerprint, given in hexadecimal pairs: one for each of its first eight bytes. */
export function fingerprintWords(fingerprint: string): readonly string[] {
  const bytes = fingerprint.match(/[0-9a-f]{2}/gi)?.slice(0, WORDS) ?? [];
  return bytes.map((byte) => OF_A_BYTE[Number.parseInt(byte, 16)] ?? "");
}
