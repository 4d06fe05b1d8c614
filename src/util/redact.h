/* What nobody wants to see in a bug report. */
#pragma once

/*
 * Puts "***" in place of the user and password of URLs and of the values of assignments whose name says that they are
 * secret (HF_TOKEN=..., api_key=...). In place: the text does not grow.
 */
void rd_redact(char *text);
