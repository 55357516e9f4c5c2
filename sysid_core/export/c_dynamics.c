/* Rigid bodies: recursive Newton-Euler in the bodies' own frames (Luh, Walker, Paul 1980), on the
   tables above. Uniform for joints that turn and joints that slide: the other's axis is zero. */

typedef struct {
  double R[N_JOINTS + 1][9];   /* body axes in the parent's */
  double p[N_JOINTS + 1][3];   /* body origin in the parent's axes */
  double w[N_JOINTS + 1][3];   /* angular velocity */
  double dw[N_JOINTS + 1][3];  /* angular acceleration */
  double acc[N_JOINTS + 1][3]; /* acceleration of the origin minus gravity */
} motion;

static void cross_add(const double *x, const double *y, double *z) {
  z[0] += x[1] * y[2] - x[2] * y[1];
  z[1] += x[2] * y[0] - x[0] * y[2];
  z[2] += x[0] * y[1] - x[1] * y[0];
}

static void turn(const double *R, const double *x, double *y) {
  for (int k = 0; k < 3; ++k) y[k] = R[3 * k] * x[0] + R[3 * k + 1] * x[1] + R[3 * k + 2] * x[2];
}

static void turn_back(const double *R, const double *x, double *y) {
  for (int k = 0; k < 3; ++k) y[k] = R[k] * x[0] + R[3 + k] * x[1] + R[6 + k] * x[2];
}

static double dot3(const double *x, const double *y) {
  return x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
}

static void move(const double *q, const double *v, const double *a, double gravity, motion *m) {
  for (int k = 0; k < 3; ++k) {
    m->w[0][k] = m->dw[0][k] = 0.0;
    m->acc[0][k] = -gravity * GRAVITY[k];
  }
  for (int i = 1; i <= N_JOINTS; ++i) {
    const int b = PARENT[i];
    const double s = sin(q[i - 1]), c = 1.0 - cos(q[i - 1]);
    double around[3] = {0.0, 0.0, 0.0}, origin[3], spin[3], slide[3], twice[3];
    for (int k = 0; k < 9; ++k) m->R[i][k] = R_0[i][k] + s * R_S[i][k] + c * R_C[i][k];
    for (int k = 0; k < 3; ++k) m->p[i][k] = P_0[i][k] + q[i - 1] * P_Q[i][k];
    cross_add(m->w[b], m->p[i], around);
    for (int k = 0; k < 3; ++k) origin[k] = m->acc[b][k];
    cross_add(m->dw[b], m->p[i], origin);
    cross_add(m->w[b], around, origin);
    turn_back(m->R[i], m->w[b], m->w[i]);
    turn_back(m->R[i], m->dw[b], m->dw[i]);
    turn_back(m->R[i], origin, m->acc[i]);
    for (int k = 0; k < 3; ++k) {
      spin[k] = TURN[i][k] * v[i - 1];
      slide[k] = SLIDE[i][k] * v[i - 1];
      twice[k] = 2.0 * m->w[i][k];
      m->dw[i][k] += TURN[i][k] * a[i - 1];
      m->acc[i][k] += SLIDE[i][k] * a[i - 1];
    }
    cross_add(m->w[i], spin, m->dw[i]);
    cross_add(twice, slide, m->acc[i]);
    for (int k = 0; k < 3; ++k) m->w[i][k] += spin[k];
  }
}

/* Force and moment about the origin that move a body; pi = m, m c, Ixx Ixy Iyy Ixz Iyz Izz. */
static void wrench(const double *pi, const double *w, const double *dw, const double *acc,
                   double *F, double *M) {
  const double I[9] = {pi[4], pi[5], pi[7], pi[5], pi[6], pi[8], pi[7], pi[8], pi[9]};
  double around[3] = {0.0, 0.0, 0.0}, momentum[3];
  cross_add(w, pi + 1, around);
  for (int k = 0; k < 3; ++k) F[k] = pi[0] * acc[k];
  cross_add(dw, pi + 1, F);
  cross_add(w, around, F);
  turn(I, dw, M);
  turn(I, w, momentum);
  cross_add(w, momentum, M);
  cross_add(pi + 1, acc, M);
}

static void newton_euler(const double *pi, const double *q, const double *v, const double *a,
                         double gravity, double *tau) {
  motion m;
  double F[N_JOINTS + 1][3], M[N_JOINTS + 1][3], f[3];
  move(q, v, a, gravity, &m);
  for (int k = 0; k < 3; ++k) F[0][k] = M[0][k] = 0.0;
  for (int i = 1; i <= N_JOINTS; ++i) {
    wrench(pi + 10 * (i - 1), m.w[i], m.dw[i], m.acc[i], F[i], M[i]);
  }
  for (int i = N_JOINTS; i >= 1; --i) {
    const int b = PARENT[i];
    tau[i - 1] = dot3(TURN[i], M[i]) + dot3(SLIDE[i], F[i]);
    turn(m.R[i], F[i], f);
    for (int k = 0; k < 3; ++k) F[b][k] += f[k];
    cross_add(m.p[i], f, M[b]);
    turn(m.R[i], M[i], f);
    for (int k = 0; k < 3; ++k) M[b][k] += f[k];
  }
}

void PREFIX(rigid_torques)(const double *q, const double *v, const double *a, double *tau) {
  newton_euler(PREFIX(parameters), q, v, a, 1.0, tau);
}

void PREFIX(gravity_of)(const double *parameters, const double *q, double *tau) {
  const double zero[N_JOINTS] = {0.0};
  newton_euler(parameters, q, zero, zero, 1.0, tau);
}

void PREFIX(gravity)(const double *q, double *tau) {
  PREFIX(gravity_of)(PREFIX(parameters), q, tau);
}

void PREFIX(mass_matrix)(const double *q, double *M) {
  const double zero[N_JOINTS] = {0.0};
  double a[N_JOINTS] = {0.0}, column[N_JOINTS];
  for (int j = 0; j < N_JOINTS; ++j) {
    a[j] = 1.0;
    newton_euler(PREFIX(parameters), q, zero, a, 0.0, column);
    a[j] = 0.0;
    for (int i = 0; i < N_JOINTS; ++i) M[N_JOINTS * i + j] = column[i];
  }
}

void PREFIX(regressor)(const double *q, const double *v, const double *a, double *Y) {
  motion m;
  double pi[10] = {0.0}, F[3], M[3], f[3], t[3];
  move(q, v, a, 1.0, &m);
  for (int k = 0; k < N_JOINTS * 10 * N_JOINTS; ++k) Y[k] = 0.0;
  for (int i = 1; i <= N_JOINTS; ++i) {
    for (int c = 0; c < 10; ++c) {
      pi[c] = 1.0;
      wrench(pi, m.w[i], m.dw[i], m.acc[i], F, M);
      pi[c] = 0.0;
      for (int j = i; j > 0; j = PARENT[j]) {
        Y[10 * N_JOINTS * (j - 1) + 10 * (i - 1) + c] = dot3(TURN[j], M) + dot3(SLIDE[j], F);
        turn(m.R[j], F, f);
        turn(m.R[j], M, t);
        cross_add(m.p[j], f, t);
        for (int k = 0; k < 3; ++k) {
          F[k] = f[k];
          M[k] = t[k];
        }
      }
    }
  }
}
