/* What a FreeRTOS board brings: the macros BOARD_NAME, BOARD_CLOCK, BOARD_CLOCK_HZ (board.h), and these functions. board_now_ns and
 * board_ring_in run with interrupts masked. Beside them it defines rtl_put and rtl_get, and calls freertos_begin() after reset. */
#ifndef RTLITE_FREERTOS_H
#define RTLITE_FREERTOS_H

#include <stdint.h>

#include "board.h"

/* Never backwards. */
int64_t board_now_ns(void);
/* Calls freertos_timer_rang() from an interrupt, once, after `ns` (0 and less: at once). Another call replaces it. */
void board_ring_in(int64_t ns);
/* As rtl_port.storm and rtl_port.typed; `#define board_storm NULL` where there is none. */
#ifndef board_storm
int board_storm(int64_t every_ns, int64_t busy_ns);
#endif
#ifndef board_typed
int board_typed(void);
#endif

/* For the board: the timer's interrupt; and the start, which does not return. */
void freertos_timer_rang(void);
void freertos_begin(void);

#endif
