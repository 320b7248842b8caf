X[p,d]       = const([[0.1,0.2,0.3],[0.4,0.5,0.6]])
WQ[dk,d]     = const([[0.2,0.1,0.0],[0.0,0.3,0.1],[0.1,-0.2,0.2]])
WK[dk,d]     = const([[0.1,0.4,0.2],[0.3,0.2,0.1],[0.0,0.1,0.3]])
WV[dv,d]     = const([[0.5,0.4,0.3],[0.2,0.1,0.0],[0.3,0.2,0.1]])
Mask[p,p']   = const([[0.0,-1.0],[-1.0,0.0]])
InvSqrtDk    = const(0.35355339)
Target[p,dv] = const([[0.1,0.2,0.3],[0.3,0.2,0.1]])

Q[p,dk]      = WQ[dk,d] X[p,d]
K[p,dk]      = WK[dk,d] X[p,d]
V[p,dv]      = WV[dv,d] X[p,d]
Score[p,p']  = Q[p,dk] K[p',dk] InvSqrtDk
Score[p,p']  = Mask[p,p']
Comp[p,p'.]  = softmax(Score[p,p'], axis="p'")
Attn[p,dv]   = Comp[p,p'] V[p',dv]
Loss         = Attn[p,dv] Target[p,dv]

Grad_Loss = const(1.0)
Grad_Attn[p, dv] = Grad_Loss Target[p, dv]
Grad_Target[p, dv] = Grad_Loss Attn[p, dv]
Grad_Comp[p, p'] = Grad_Attn[p, dv] V[p', dv]
Grad_V[p', dv] = Grad_Attn[p, dv] Comp[p, p']
Grad_Score[p, p'] = softmax_grad(Comp[p, p'], Grad_Comp[p, p'], axis="p'")
Grad_Mask[p, p'] = Grad_Score[p, p']
Grad_Q[p, dk] = Grad_Score[p, p'] K[p', dk] InvSqrtDk
Grad_K[p', dk] = Grad_Score[p, p'] Q[p, dk] InvSqrtDk
Grad_InvSqrtDk = Grad_Score[p, p'] Q[p, dk] K[p', dk]
Grad_WV[dv, d] = Grad_V[p, dv] X[p, d]
Grad_X[p, d] = Grad_V[p, dv] WV[dv, d]
Grad_WK[dk, d] = Grad_K[p, dk] X[p, d]
Grad_X[p, d] = Grad_K[p, dk] WK[dk, d]
Grad_WQ[dk, d] = Grad_Q[p, dk] X[p, d]
Grad_X[p, d] = Grad_Q[p, dk] WQ[dk, d]
