/* Commands in words for a person. */
#pragma once

/* Where the command of a step begins: at once, or behind words that end in a colon ("on the host: docker run ..."). NULL: none. */
const char *rd_command_in(const char *text);
