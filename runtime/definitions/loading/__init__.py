"""Files of packs to definitions, checked as a whole, with every fault named."""
